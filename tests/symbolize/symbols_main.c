/* SPDX-License-Identifier: MIT */
/*
 * td_symbols [options] FILE: reads hexadecimal virtual addresses (or file offsets, --offsets) from
 * stdin, prints for each its chain of functions and lines, innermost first, and an empty line: the
 * output of llvm-symbolizer, for comparing with it and for timing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "base/opt.h"
#include "symbolize/elf/buildid.h"
#include "symbolize/elf/elf.h"
#include "symbolize/symbolize.h"

struct options {
    bool offsets, quiet, times, functions, linkage, no_build_id;
    const char *cache, *sysroot, *build_id;
    uint64_t jobs, timeout;
    struct td_opt_list debug_dirs;
};

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void add_locations(struct td_model *model, const struct td_elf *elf, uint32_t module,
                          const struct options *o, uint32_t **locations, size_t *count)
{
    struct td_buf text = {0};
    size_t cap = 0;

    for (size_t n = 1; n > 0; text.len += n)
        n = fread(td_buf_reserve(&text, 65536), 1, 65536, stdin);
    td_buf_u8(&text, 0);
    const char *p = (const char *)text.data;
    for (char *end = NULL; *p != '\0'; p = end) {
        uint64_t address = strtoull(p, &end, 16), offset = address;

        if (end == p) {
            end++;
            continue;
        }
        if (!o->offsets && !td_elf_offset(elf, address, &offset))
            offset = UINT64_MAX;
        *locations = td_grow(*locations, &cap, *count + 1, sizeof(**locations));
        (*locations)[(*count)++] = td_model_put_location(model, module, offset);
    }
    td_buf_release(&text);
}

static void print_location(const struct td_model *model, uint32_t id, bool linkage)
{
    const struct td_location *l = td_model_location(model, id);

    for (uint32_t i = 0; i < l->line_count; i++) {
        const struct td_line *line = td_model_line(model, l->line_first + i);
        const struct td_function *f = td_model_function(model, line->function);
        const char *file = td_model_string(model, line->file);
        const uint32_t name = linkage && f->linkage_name ? f->linkage_name : f->name;

        printf("%s\n%s:%u:%u\n", td_model_string(model, name), *file ? file : "??", line->line,
               line->column);
    }
    printf(l->line_count ? "\n" : "??\n??:0:0\n\n");
}

static struct td_build_id parse_build_id(const char *hex)
{
    struct td_build_id id = {0};
    unsigned byte = 0;

    for (; id.size < TD_BUILD_ID_MAX && sscanf(hex, "%2x", &byte) == 1; hex += 2)
        id.bytes[id.size++] = (uint8_t)byte;
    return id;
}

static int run(const struct options *o, const char *path)
{
    struct td_err err = TD_ERR_INIT;
    struct td_elf *elf = NULL;
    struct td_model *model = td_model_new();
    uint32_t *locations = NULL;
    size_t count = 0;
    const double start = now_s();

    if (td_elf_open(&elf, path, &err) != TD_OK) {
        fprintf(stderr, "td_symbols: %s\n", err.text);
        return 1;
    }
    struct td_module module = {.kind = TD_MODULE_FILE, .path = td_model_intern_z(model, path)};
    if (!o->no_build_id)
        module.build_id = td_elf_build_id(elf);
    if (o->build_id)
        module.build_id = parse_build_id(o->build_id);
    const uint32_t id = td_model_put_module(model, &module);
    add_locations(model, elf, id, o, &locations, &count);
    const struct td_symbolizer_opts opts = {.cache_dir = o->cache ? o->cache : "",
                                            .sysroot = o->sysroot,
                                            .debug_dirs = o->debug_dirs.items,
                                            .jobs = (unsigned)o->jobs,
                                            .timeout_s = (unsigned)o->timeout,
                                            .functions_only = o->functions};
    struct td_symbolizer *symbolizer = td_symbolizer_new(&opts);
    const double loaded = now_s();
    const int rc = td_symbolizer_resolve(symbolizer, model, &err);
    const double resolved = now_s();

    for (size_t i = 0; i < count && !o->quiet; i++)
        print_location(model, locations[i], o->linkage);
    const char *note = td_model_string(model, td_model_module(model, id)->note);
    if (rc != TD_OK)
        fprintf(stderr, "td_symbols: %s\n", err.text);
    if (note[0] != '\0')
        fprintf(stderr, "note: %s\n", note);
    if (o->times)
        fprintf(stderr, "%zu addresses: load %.3f s, resolve %.3f s\n", count, loaded - start,
                resolved - loaded);
    td_symbolizer_free(symbolizer);
    td_model_free(model);
    td_elf_free(elf);
    free(locations);
    return rc == TD_OK ? 0 : 1;
}

int main(int argc, char **argv)
{
    struct options o = {0};
    struct td_err err = TD_ERR_INIT;
    const struct td_opt table[] = {
        {TD_OPT_FLAG, 0, "offsets", NULL, "the input is file offsets", &o.offsets},
        {TD_OPT_FLAG, 'q', "quiet", NULL, "print no chains", &o.quiet},
        {TD_OPT_FLAG, 't', "times", NULL, "print times on stderr", &o.times},
        {TD_OPT_FLAG, 0, "functions", NULL, "containing functions only", &o.functions},
        {TD_OPT_FLAG, 0, "linkage", NULL, "names as in the symbol table", &o.linkage},
        {TD_OPT_FLAG, 0, "no-build-id", NULL, "as if none was recorded", &o.no_build_id},
        {TD_OPT_STRING, 0, "build-id", "HEX", "as if this one was recorded", &o.build_id},
        {TD_OPT_STRING, 0, "cache", "DIR", "keep answers there", &o.cache},
        {TD_OPT_STRING, 0, "sysroot", "DIR", "put before paths", &o.sysroot},
        {TD_OPT_LIST, 0, "debug-dir", "DIR", "look there first", &o.debug_dirs},
        {TD_OPT_U64, 'j', "jobs", "N", "processes", &o.jobs},
        {TD_OPT_U64, 0, "timeout", "S", "seconds for the module", &o.timeout},
        TD_OPT_END,
    };
    const int first = td_opt_parse(table, argc, argv, true, &err);

    if (first < 0 || first != argc - 1) {
        fprintf(stderr, "td_symbols: %s\n", first < 0 ? err.text : "one FILE is needed");
        td_opt_print(table, stderr);
        return 2;
    }
    /* A list ends with NULL for the symbolizer. */
    if (o.debug_dirs.len > 0) {
        o.debug_dirs.items = td_grow(o.debug_dirs.items, &o.debug_dirs.cap, o.debug_dirs.len + 1,
                                     sizeof(*o.debug_dirs.items));
        o.debug_dirs.items[o.debug_dirs.len] = NULL;
    }
    char *path = realpath(argv[first], NULL);
    const int rc = run(&o, path ? path : argv[first]);
    free(path);
    td_opt_list_release(&o.debug_dirs);
    return rc;
}
