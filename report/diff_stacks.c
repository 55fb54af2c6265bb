/* SPDX-License-Identifier: MIT */
#include "report/diff_stacks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/intern.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/version.h"
#include "formats/export/export.h"
#include "formats/export/json.h"
#include "report/query/figures/rows.h"

#define COMM_MAX 15 /* the kernel cuts names of processes to that */

struct stack {
    uint32_t text; /* in `texts` */
    double values[2];
};

struct stacks {
    struct td_intern *texts;
    struct td_map ids; /* text -> index */
    struct stack *at;
    size_t len, cap;
};

/* An address in code without a name says nothing about another build: "libz.so+0x1f40" becomes
 * "libz.so". Returns the end of what was written. */
static char *copy_frame(char *to, const char *frame, size_t len)
{
    for (size_t i = len; i-- > 1;) {
        if (frame[i] == 'x' && frame[i - 1] == '0' && i > 1 && frame[i - 2] == '+') {
            len = i - 2;
            break;
        }
        if (!strchr("0123456789abcdef", frame[i]))
            break;
    }
    memcpy(to, frame, len);
    return to + len;
}

/* The outermost frame is the program's name, which may be another in a new build: "[program]". */
static void add_stack(struct stacks *s, const char *line, size_t len, const char *program,
                      size_t side, double value)
{
    char *text = td_xcalloc(len + 16, 1);
    char *to = text;
    bool added = false;

    for (size_t at = 0; at < len;) {
        size_t end = at;

        while (end < len && line[end] != ';')
            end++;
        if (at == 0 && program && strncmp(program, line, end) == 0 &&
            (program[end] == '\0' || end == COMM_MAX))
            to = copy_frame(to, TD_MATCH_PROGRAM, strlen(TD_MATCH_PROGRAM));
        else
            to = copy_frame(to, line + at, end - at);
        if (end < len)
            *to++ = ';';
        at = end + 1;
    }
    const uint32_t id = td_intern_put(s->texts, text, (size_t)(to - text));
    const uint32_t index = *td_map_put(&s->ids, id, 0, (uint32_t)s->len, &added);
    if (added) {
        s->at = td_grow(s->at, &s->cap, s->len + 1, sizeof(*s->at));
        s->at[s->len++] = (struct stack){.text = id};
    }
    s->at[index].values[side] += value;
    free(text);
}

/* Lines "a;b;c 12" of the folded export. */
static void add_lines(struct stacks *s, const char *text, const struct td_measure *measure,
                      size_t side, double factor)
{
    const char *argv = td_model_env(measure->model, TD_ENV_ARGV);
    const char *slash = argv ? strrchr(argv, '/') : NULL;
    const char *program = slash ? slash + 1 : argv;

    while (*text) {
        const size_t len = strcspn(text, "\n");
        size_t blank = len;

        while (blank > 0 && text[blank - 1] != ' ')
            blank--;
        if (blank > 0)
            add_stack(s, text, blank - 1, program, side, factor * strtod(text + blank, NULL));
        text += len + (text[len] == '\n');
    }
}

static int add_run(struct stacks *s, const struct td_measure *measure, size_t side, double factor,
                   enum td_metric metric, bool no_inline, struct td_err *err)
{
    const struct td_export_opts opts = {
        .metric = metric, .no_inline = no_inline, .mark_inlined = true};
    char *text = NULL;
    size_t size = 0;
    FILE *out = td_xmemstream(&text, &size);

    const int rc = td_exporter_by_name("folded")->write(measure, &opts, out, err);
    fclose(out);
    if (rc == TD_OK)
        add_lines(s, text, measure, side, factor);
    free(text);
    return rc;
}

static int by_text(const void *a, const void *b, void *texts)
{
    const struct stack *x = a, *y = b;

    return strcmp(td_intern_get(texts, x->text), td_intern_get(texts, y->text));
}

static void write_folded(const struct stacks *s, FILE *out)
{
    for (size_t i = 0; i < s->len; i++)
        fprintf(out, "%s %.0f %.0f\n", td_intern_get(s->texts, s->at[i].text), s->at[i].values[0],
                s->at[i].values[1]);
}

/* Frames by name, once, in the order of their first use; ids of each stack's are found again by
 * name. */
static void write_frames(struct td_json *json, const struct stacks *s, struct td_intern *names,
                         struct td_map *ids)
{
    td_json_array(json, "frames");
    for (size_t i = 0; i < s->len; i++) {
        for (const char *at = td_intern_get(s->texts, s->at[i].text); *at;) {
            const size_t len = strcspn(at, ";");
            bool added = false;

            td_map_put(ids, td_intern_put(names, at, len), 0, (uint32_t)ids->len, &added);
            if (added) {
                td_json_object(json, NULL);
                td_json_bytes(json, "name", at, len);
                td_json_end(json);
            }
            at += len + (at[len] == ';');
        }
    }
    td_json_end(json);
}

enum part { PART_OLD, PART_NEW, PART_MORE, PART_LESS, PARTS };

static double part_of(const struct stack *stack, int part)
{
    const double change = stack->values[1] - stack->values[0];

    switch (part) {
    case PART_OLD: return stack->values[0];
    case PART_NEW: return stack->values[1];
    case PART_MORE: return change > 0 ? change : 0;
    default: return change < 0 ? -change : 0;
    }
}

static void write_part(struct td_json *json, const struct stacks *s, struct td_intern *names,
                       const struct td_map *ids, int part, const char *unit)
{
    static const char *const titles[PARTS] = {"OLD", "NEW", "more in NEW than in OLD",
                                              "less in NEW than in OLD"};
    double sum = 0;

    td_json_object(json, NULL);
    td_json_string(json, "type", "sampled");
    td_json_string(json, "name", titles[part]);
    td_json_string(json, "unit", unit);
    td_json_array(json, "samples");
    for (size_t i = 0; i < s->len; i++) {
        if (part_of(&s->at[i], part) <= 0)
            continue;
        td_json_array(json, NULL);
        for (const char *at = td_intern_get(s->texts, s->at[i].text); *at;) {
            const size_t len = strcspn(at, ";");

            td_json_u64(json, NULL, *td_map_find(ids, td_intern_put(names, at, len), 0));
            at += len + (at[len] == ';');
        }
        td_json_end(json);
    }
    td_json_end(json);
    td_json_array(json, "weights");
    for (size_t i = 0; i < s->len; i++) {
        const double value = part_of(&s->at[i], part);

        sum += value;
        if (value > 0)
            td_json_double(json, NULL, value, 12);
    }
    td_json_end(json);
    td_json_u64(json, "startValue", 0);
    td_json_double(json, "endValue", sum, 15);
    td_json_end(json);
}

static void write_speedscope(const struct stacks *s, enum td_metric metric, FILE *out)
{
    struct td_json json = td_json_init(out, 2);
    struct td_intern *names = td_intern_new();
    struct td_map ids = {.slots = NULL};
    const char *unit = metric == TD_METRIC_TIME_NS ? "nanoseconds" : "none";

    td_json_object(&json, NULL);
    td_json_string(&json, "$schema", "https://www.speedscope.app/file-format-schema.json");
    td_json_string(&json, "name", "diff");
    td_json_string(&json, "exporter", "tdreport " TD_VERSION);
    td_json_u64(&json, "activeProfileIndex", PART_MORE);
    td_json_object(&json, "shared");
    write_frames(&json, s, names, &ids);
    td_json_end(&json);
    td_json_array(&json, "profiles");
    for (int part = 0; part < PARTS; part++)
        write_part(&json, s, names, &ids, part, unit);
    td_json_end(&json);
    td_json_end(&json);
    td_map_release(&ids);
    td_intern_free(names);
}

/* Through a new file beside it, so that a failure leaves what was there before. */
static int write_out(const struct stacks *s, const struct td_diff_stacks_opts *opts,
                     enum td_metric metric, struct td_err *err)
{
    const bool to_stdout = !opts->output || strcmp(opts->output, "-") == 0;
    char *temporary = to_stdout ? NULL : td_xasprintf("%s.%ld.tmp", opts->output, (long)getpid());
    FILE *out = to_stdout ? stdout : fopen(temporary, "wxe");
    int rc = TD_OK;

    if (!out) {
        rc = td_fail_errno(err, TD_EIO, errno, "cannot write %s", opts->output);
        free(temporary);
        return rc;
    }
    if (strcmp(opts->format, "folded") == 0)
        write_folded(s, out);
    else
        write_speedscope(s, metric, out);
    if (!to_stdout) {
        const bool failed = fflush(out) != 0 || ferror(out);

        fclose(out);
        if (failed || rename(temporary, opts->output) != 0)
            rc = td_fail_errno(err, TD_EIO, errno, "cannot write %s", opts->output);
        if (rc < 0)
            unlink(temporary);
    }
    free(temporary);
    return rc;
}

int td_diff_stacks_write(const struct td_diff_side *sides, size_t count,
                         const struct td_diff_stacks_opts *opts, struct td_err *err)
{
    struct stacks s = {.texts = NULL};
    enum td_metric metric = TD_METRIC_COUNT;
    int rc = TD_OK;

    if (count != 2)
        return td_fail(err, TD_EUSAGE, "diff export compares two profiles: name OLD and NEW");
    if (strcmp(opts->format, "folded") != 0 && strcmp(opts->format, "speedscope") != 0)
        return td_fail(err, TD_EUSAGE, "diff export writes folded or speedscope, not '%s'",
                       opts->format);
    rc = td_diff_metric(&metric, sides, count, err);
    s.texts = td_intern_new();
    for (size_t side = 0; side < count && rc == TD_OK; side++) {
        const double work = sides[side].work > 0 ? sides[side].work : 1;

        for (size_t r = 0; r < sides[side].run_count && rc == TD_OK; r++) {
            if (opts->category) {
                rc = td_metric_parse(&metric, sides[side].runs[r], opts->category,
                                     TD_METRIC_SAMPLES, err);
                if (rc < 0)
                    td_err_prefix(err, "--category %s", opts->category);
            }
            if (rc == TD_OK)
                rc = add_run(&s, sides[side].runs[r], side,
                             1 / (work * (double)sides[side].run_count), metric, opts->no_inline,
                             err);
        }
    }
    if (rc == TD_OK) {
        if (s.len > 1)
            qsort_r(s.at, s.len, sizeof(*s.at), by_text, s.texts);
        rc = write_out(&s, opts, metric, err);
    }
    td_intern_free(s.texts);
    td_map_release(&s.ids);
    free(s.at);
    return rc;
}
