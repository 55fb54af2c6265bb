/* SPDX-License-Identifier: MIT */
#include "report/source.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"

#define SOURCE_BYTES_MAX (64u << 20)

static void index_lines(struct td_source *source)
{
    const char *text = (const char *)source->text.data;
    size_t cap = 0;

    for (size_t at = 0; at < source->text.len;) {
        const char *end = memchr(text + at, '\n', source->text.len - at);

        source->starts =
            td_grow(source->starts, &cap, (size_t)source->line_count + 2, sizeof(*source->starts));
        source->starts[source->line_count++] = at;
        at = end ? (size_t)(end - text) + 1 : source->text.len;
        source->starts[source->line_count] = at;
    }
}

/* `named` by the profile alone: whoever made it may have named any file. */
static int read_one(struct td_source *ret, const char *path, bool named, struct td_err *err)
{
    struct td_source source = {.line_count = 0};
    struct stat st;

    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return td_fail(err, TD_ENOENT, "%s: no such file", path);
    if (named && geteuid() == 0 && !(st.st_mode & S_IROTH))
        return td_fail(err, TD_EUNSUPPORTED,
                       "%s: not shown, because only root may read it: --source-dir / shows it",
                       path);
    const int rc = td_file_read(path, SOURCE_BYTES_MAX, &source.text, err);
    if (rc < 0) {
        td_buf_release(&source.text);
        return rc;
    }
    source.changed_ns =
        (uint64_t)st.st_mtim.tv_sec * UINT64_C(1000000000) + (uint64_t)st.st_mtim.tv_nsec;
    index_lines(&source);
    *ret = source;
    return TD_OK;
}

static int read_under(struct td_source *ret, const char *path, const char *dir)
{
    int rc = TD_ENOENT;

    for (const char *rest = path; rest && rc < 0;) {
        rest += strspn(rest, "/");
        char *full = td_xasprintf("%s/%s", dir, rest);
        rc = read_one(ret, full, false, NULL);
        free(full);
        rest = strchr(rest, '/');
    }
    return rc;
}

int td_source_read(struct td_source *ret, const char *path, const struct td_source_dirs *dirs,
                   struct td_err *err)
{
    for (size_t i = 0; i < dirs->len; i++) {
        if (read_under(ret, path, dirs->at[i]) == TD_OK)
            return TD_OK;
    }
    return read_one(ret, path, true, err);
}

void td_source_release(struct td_source *source)
{
    td_buf_release(&source->text);
    free(source->starts);
    *source = (struct td_source){.line_count = 0};
}

const char *td_source_line(const struct td_source *source, uint32_t line, size_t *len)
{
    if (line == 0 || line > source->line_count)
        return NULL;
    const char *text = (const char *)source->text.data + source->starts[line - 1];
    size_t n = source->starts[line] - source->starts[line - 1];
    while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == '\r'))
        n--;
    *len = n;
    return text;
}
