/* SPDX-License-Identifier: MIT */
#include "formats/load.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/mem.h"
#include "formats/perfdata/perfdata.h"
#include "formats/profile/load.h"

struct loader {
    bool (*detect)(const void *data, size_t size);
    int (*load)(struct td_model *model, const void *data, size_t size,
                const struct td_load_opts *opts, struct td_load_status *status, struct td_err *err);
};

#define KNOWN_BYTES 64 /* of a file that tell its kind */

/* Asked in order; one line a kind of file. */
static const struct loader loaders[] = {
    {td_profile_detect, td_profile_load},
    {td_perfdata_detect, td_perfdata_load},
};

static const struct loader *find_loader(const void *data, size_t size)
{
    for (size_t i = 0; i < TD_ARRAY_SIZE(loaders); i++) {
        if (loaders[i].detect(data, size))
            return &loaders[i];
    }
    return NULL;
}

int td_load_bytes(struct td_model **ret, const void *data, size_t size, const char *name,
                  const struct td_load_opts *opts, struct td_load_status *status,
                  struct td_err *err)
{
    static const struct td_load_opts defaults = {0};
    struct td_load_status unwanted;
    const struct loader *loader = NULL;

    if (!status)
        status = &unwanted;
    *status = (struct td_load_status){.damage = TD_ERR_INIT};
    if (size == 0)
        return td_fail_at(err, TD_EFORMAT, 0, "'%s' is empty", name);
    loader = find_loader(data, size);
    if (!loader)
        return td_fail_at(err, TD_EFORMAT, 0, "'%s' is not a tdprof profile or a perf.data file",
                          name);
    struct td_model *model = td_model_new();
    const int rc = loader->load(model, data, size, opts ? opts : &defaults, status, err);
    if (rc < 0) {
        td_err_prefix(err, "'%s'", name);
        td_model_free(model);
        return rc;
    }
    *ret = model;
    return TD_OK;
}

bool td_load_knows(const char *path)
{
    uint8_t head[KNOWN_BYTES];
    FILE *file = fopen(path, "rbe");
    const size_t size = file ? fread(head, 1, sizeof(head), file) : 0;

    if (file)
        fclose(file);
    return size > 0 && find_loader(head, size);
}

/* "perf record --kcore" and "--threads" write a directory whose file "data" is the perf.data. NULL
 * for all else; owned by the caller. */
static char *file_of_directory(const char *path)
{
    struct stat st;

    if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode))
        return NULL;
    char *const inner = td_xasprintf("%s/data", path);
    if (stat(inner, &st) == 0 && S_ISREG(st.st_mode))
        return inner;
    free(inner);
    return NULL;
}

int td_load_file(struct td_model **ret, const char *path, const struct td_load_opts *opts,
                 struct td_load_status *status, struct td_err *err)
{
    struct td_load_opts mapped = opts ? *opts : (struct td_load_opts){0};
    struct td_file_map map = {0};
    char *const inner = file_of_directory(path);
    int rc = td_file_load(&map, inner ? inner : path, err);

    if (rc == TD_OK) {
        mapped.mapped = true;
        rc = td_load_bytes(ret, map.data, map.size, inner ? inner : path, &mapped, status, err);
        td_file_unmap(&map);
    }
    free(inner);
    return rc;
}
