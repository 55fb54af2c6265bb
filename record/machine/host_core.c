/* SPDX-License-Identifier: MIT */
#include "record/machine/host_core.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/file.h"
#include "base/mem.h"
#include "formats/cores/core.h"

#define TEXT_BYTES_MAX 65536

enum unit { COUNT, CYCLES, TICKS };

static const struct field {
    const char *section, *key;
    enum unit unit;
    int min, max;
} fields[] = {
#define X(section_, key_, unit_, min_, max_, meaning) \
    {.section = #section_, .key = #key_, .unit = (unit_), .min = (min_), .max = (max_)},
    TD_CORE_FIELDS(X)
#undef X
};

/* The sections that say how a core is modelled. */
static const char *const sections[] = {"core", "pipeline", "fetch", "predict",  "memory",
                                       "tlb",  "prefetch", "ports", "dispatch", "ops"};

/* Family 25 is Zen 3 and Zen 4 in turns (zen3.uarch and zen4-server.uarch, [match]). */
static const char *amd_base(unsigned family, unsigned model)
{
    if (family >= 26)
        return "zen5";
    return family < 25 || model < 16 || (model >= 32 && model < 96) ? "zen3" : "zen4";
}

/* Virtual machines may say another model than they have. The cache for code tells what is new: 64
 * KB have, of Intel's, Redwood Cove and what followed it, and the E-cores, whose models are known:
 * Alder Lake N, Sierra Forest, Grand Ridge, Clearwater Forest. */
static bool has_large_code(unsigned model, uint32_t code_kb)
{
    return code_kb == 64 && model != 190 && model != 175 && model != 182 && model != 221;
}

static const char *intel_base(unsigned family, unsigned model, uint32_t code_kb)
{
    if (family != 6)
        return "golden-cove";
    if (model == 85)
        return "skylake-x";
    /* Meteor Lake and Granite Rapids (granite-rapids.uarch and meteor-lake-p.uarch, [match]). */
    if (model == 170 || model == 172 || model == 173 || model == 174 || model == 181 ||
        has_large_code(model, code_kb))
        return "redwood-cove";
    /* Up to Comet Lake, but for Ice Lake's servers (106, 108), all other cores are Skylake's kin or
     * older. */
    return model < 106 || model == 142 || model == 158 || model == 165 || model == 166
               ? "skylake"
               : "golden-cove";
}

const char *td_host_core_base(const char *cpu_id, uint32_t code_kb)
{
    unsigned family = 0, model = 0;
    const char *numbers = strchr(cpu_id, '-');
    char *end = NULL;

    const bool amd = strncmp(cpu_id, "AuthenticAMD-", 13) == 0;
    if (!amd && strncmp(cpu_id, "GenuineIntel-", 13) != 0)
        return strncmp(cpu_id, "0x", 2) == 0 ? "neoverse-n2" : "golden-cove";
    family = (unsigned)strtoul(numbers + 1, &end, 10);
    model = *end == '-' ? (unsigned)strtoul(end + 1, NULL, 10) : 0;
    return amd ? amd_base(family, model) : intel_base(family, model, code_kb);
}

static const struct field *find_field(const char *key)
{
    for (size_t i = 0; i < TD_ARRAY_SIZE(fields); i++) {
        if (strcmp(fields[i].key, key) == 0)
            return &fields[i];
    }
    return NULL;
}

static const struct td_host_value *find_value(const struct td_host_value *values, size_t count,
                                              const char *key)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(values[i].key, key) == 0)
            return &values[i];
    }
    return NULL;
}

static bool is_modelled(const char *section)
{
    for (size_t i = 0; i < TD_ARRAY_SIZE(sections); i++) {
        if (strcmp(sections[i], section) == 0)
            return true;
    }
    return false;
}

static void put_text(struct td_buf *buf, const char *text)
{
    td_buf_bytes(buf, text, strlen(text));
}

static void put_value(struct td_buf *buf, const struct td_host_value *value)
{
    const struct field *field = find_field(value->key);
    const double unit = field && field->unit == TICKS ? TD_TICKS_PER_CYCLE : 1;
    double number = value->value;
    char text[96];

    if (field && number * unit < field->min)
        number = field->min / unit;
    if (field && number * unit > field->max)
        number = field->max / unit;
    snprintf(text, sizeof(text), field && field->unit == TICKS ? "%-20s %.2f\n" : "%-20s %.0f\n",
             value->key, number);
    put_text(buf, text);
}

static void put_line(struct td_buf *buf, const struct td_uarch_line *line, const char *title,
                     const struct td_host_value *values, size_t count)
{
    const struct td_host_value *value = find_value(values, count, line->words[0]);

    if (value) {
        put_value(buf, value);
    } else if (strcmp(line->words[0], "name") == 0) {
        put_text(buf, "name " TD_HOST_CORE "\n");
    } else if (strcmp(line->words[0], "title") == 0) {
        put_text(buf, "title ");
        put_text(buf, title);
        put_text(buf, "\n");
    } else {
        for (uint32_t i = 0; i < line->word_count; i++) {
            put_text(buf, i ? " " : "");
            put_text(buf, line->words[i]);
        }
        put_text(buf, "\n");
    }
}

char *td_host_core_text(const char *base, const char *title, const struct td_host_value *values,
                        size_t count)
{
    const struct td_uarch_builtin *builtin = td_uarch_builtin(base);
    struct td_uarch *uarch = NULL;
    struct td_buf buf = {0};

    if (!builtin || td_uarch_parse(&uarch, builtin->text, builtin->size, NULL) != TD_OK)
        return NULL;
    put_text(&buf, "# Written by tdrec --calibrate from the description ");
    put_text(&buf, base);
    put_text(&buf, "; used by --sim-core " TD_HOST_CORE ".\n");
    for (size_t s = 0; s < TD_ARRAY_SIZE(sections); s++) {
        const struct td_uarch_section *section = td_uarch_section(uarch, sections[s]);

        if (!section || !is_modelled(section->name))
            continue;
        put_text(&buf, "\n[");
        put_text(&buf, section->name);
        put_text(&buf, "]\n");
        for (size_t i = 0; i < section->line_count; i++)
            put_line(&buf, &section->lines[i], title, values, count);
    }
    td_buf_u8(&buf, 0);
    td_uarch_free(uarch);
    return (char *)buf.data;
}

static char *folder(void)
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");

    if (config && config[0] == '/')
        return td_xasprintf("%s/tdprof", config);
    return home && home[0] == '/' ? td_xasprintf("%s/.config/tdprof", home) : NULL;
}

char *td_host_core_path(void)
{
    char *where = folder();
    char *path = where ? td_xasprintf("%s/" TD_HOST_CORE ".uarch", where) : NULL;

    free(where);
    return path;
}

char *td_host_core_read(void)
{
    char *path = td_host_core_path();
    struct td_buf buf = {0};

    if (path && td_file_read(path, TEXT_BYTES_MAX, &buf, NULL) == TD_OK)
        td_buf_u8(&buf, 0);
    else
        td_buf_release(&buf);
    free(path);
    return (char *)buf.data;
}

int td_host_core_write(const char *text, struct td_err *err)
{
    char *where = folder();
    char *path = td_host_core_path();
    int rc = TD_OK;

    if (!where)
        rc = td_fail(err, TD_EIO, "HOME is not set: there is no place for the calibrated core");
    if (rc == TD_OK)
        rc = td_make_dirs(where, err);
    if (rc == TD_OK)
        rc = td_file_replace(path, text, strlen(text), err);
    free(where);
    free(path);
    return rc;
}
