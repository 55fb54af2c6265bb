/* SPDX-License-Identifier: MIT */
/* The descriptions' formulas of all levels against the vendor's own (unit/vendor): both evaluated
 * on the same random counts must agree. */
#include "uarch_fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "formats/cores/expr.h"

#define NAMES_MAX 256
#define VECTORS   1000

/* What the vendor's formulas of one core name: events first, then "let" and "node" lines, each of
 * which may use those above it. */
struct vendor {
    char core[64];
    char names[NAMES_MAX][80];
    struct td_expr *exprs[NAMES_MAX]; /* NULL: an event */
    enum td_tma_node nodes[NAMES_MAX];
    const struct td_pmu_metric *metrics[NAMES_MAX]; /* the description's of this name; NULL */
    int ours[NAMES_MAX];                            /* the description's event */
    double fixed[NAMES_MAX];                        /* of a given value; NaN: any */
    size_t len;
};

static int resolve(const void *ctx, const char *name)
{
    const struct vendor *v = ctx;

    for (size_t i = 0; i < v->len; i++) {
        if (strcmp(v->names[i], name) == 0)
            return (int)i;
    }
    return -1;
}

static int event_of(const struct td_pmu_core *core, uint64_t config, uint64_t config1)
{
    for (size_t i = 0; i < core->event_count; i++) {
        if (!core->events[i].given && core->events[i].config == config &&
            core->events[i].config1 == config1)
            return (int)i;
    }
    return -1;
}

static void add_event(struct vendor *v, const struct td_pmu_core *core, char *line)
{
    uint64_t config = 0, config1 = 0;
    const char *name = strsep(&line, " "), *first = strsep(&line, " ");

    assert_true(td_parse_u64_base(first, 16, &config));
    assert_true(!line || td_parse_u64_base(line, 16, &config1));
    snprintf(v->names[v->len], sizeof(v->names[0]), "%s", name);
    v->nodes[v->len] = TD_NODE_NONE;
    v->fixed[v->len] = NAN;
    v->ours[v->len] = event_of(core, config, config1);
    if (v->ours[v->len] < 0)
        fail_msg("%s has no event 0x%llx (%s)", v->core, (unsigned long long)config, name);
    v->len++;
}

/* "NAME [VALUE]": what is not counted, by the description's name. */
static void add_given(struct vendor *v, const struct td_pmu_core *core, char *line)
{
    const char *name = strsep(&line, " ");

    snprintf(v->names[v->len], sizeof(v->names[0]), "%s", name);
    v->nodes[v->len] = TD_NODE_NONE;
    v->ours[v->len] = td_pmu_core_event(core, name);
    v->fixed[v->len] = NAN;
    if (v->ours[v->len] < 0 || !core->events[v->ours[v->len]].given)
        fail_msg("%s: %s is not given", v->core, name);
    assert_true(!line || td_parse_double(line, &v->fixed[v->len]));
    v->len++;
}

static const struct td_pmu_metric *metric_of(const struct td_pmu_core *core, const char *name)
{
    for (size_t i = 0; i < core->metric_count; i++) {
        if (strcmp(core->metrics[i].name, name) == 0)
            return &core->metrics[i];
    }
    fail_msg("%s has no metric %s", core->name, name);
    return NULL;
}

/* `kind`: 'l' of a let, 'n' of a node, 'm' of a metric. */
static void add_formula(struct vendor *v, const struct td_pmu_core *core, char *line, char kind)
{
    char *formula = strstr(line, " = ");
    struct td_err err = TD_ERR_INIT;

    assert_non_null(formula);
    *formula = '\0';
    if (td_expr_compile(&v->exprs[v->len], formula + 3, resolve, v, &err) != TD_OK)
        fail_msg("%s: %s: %s", v->core, line, err.text);
    snprintf(v->names[v->len], sizeof(v->names[0]), "%s", line);
    v->nodes[v->len] = kind == 'n' ? td_tma_by_id(line) : TD_NODE_NONE;
    v->metrics[v->len] = kind == 'm' ? metric_of(core, line) : NULL;
    assert_true(kind != 'n' || v->nodes[v->len] != TD_NODE_NONE);
    v->len++;
}

/* The same sequence in each run (Knuth's generator). */
static double next_count(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(*state >> 40) + 1;
}

/* Where the vendor leaves a remainder negative, the descriptions have 0. */
static bool agree(double ours, double theirs)
{
    const double a = fmax(ours, 0), b = fmax(theirs, 0);

    return !isnan(ours) && fabs(a - b) <= 1e-9 * (1 + fabs(b));
}

static size_t compare_once(const struct vendor *v, const struct td_pmu_core *core, uint64_t *state)
{
    double *counts = td_xcalloc(core->event_count, sizeof(*counts));
    double values[NAMES_MAX] = {0};
    size_t wrong = 0;

    for (size_t i = 0; i < core->event_count; i++) {
        const int same = event_of(core, core->events[i].config, core->events[i].config1);

        counts[i] = same < (int)i && !core->events[i].given ? counts[same] : next_count(state);
    }
    for (size_t i = 0; i < v->len; i++) {
        if (!v->exprs[i] && !isnan(v->fixed[i]))
            counts[v->ours[i]] = v->fixed[i];
    }
    for (size_t i = 0; i < v->len; i++) {
        values[i] = v->exprs[i] ? td_expr_eval(v->exprs[i], values) : counts[v->ours[i]];
        if (v->nodes[i] == TD_NODE_NONE && !v->metrics[i])
            continue;
        const double ours = v->metrics[i] ? td_pmu_core_metric(core, v->metrics[i], counts, 0)
                                          : td_pmu_core_formula(core, v->nodes[i], counts, 0);
        if (!agree(ours, values[i])) {
            print_error("%s: %s is %.9g, the vendor's %.9g\n", v->core, v->names[i], ours,
                        values[i]);
            wrong++;
        }
    }
    free(counts);
    return wrong;
}

static void compare(struct vendor *v, const struct td_pmu_core *core, size_t *cores)
{
    uint64_t state = 1;
    size_t wrong = 0;

    for (int i = 0; i < VECTORS && wrong == 0; i++)
        wrong = compare_once(v, core, &state);
    for (size_t i = 0; i < v->len; i++)
        td_expr_free(v->exprs[i]);
    assert_int_equal(wrong, 0);
    memset(v, 0, sizeof(*v));
    ++*cores;
}

/* All cores of a file of unit/vendor; how many. */
static size_t compare_file(const char *name)
{
    struct vendor *vendor = td_xcalloc(1, sizeof(*vendor));
    struct fx_uarch described = {0};
    struct td_buf text = {0};
    struct td_err err = TD_ERR_INIT;
    char *path = td_xasprintf("%s/unit/vendor/%s", TD_TESTS_DIR, name);
    size_t cores = 0;

    assert_int_equal(td_file_read(path, 1 << 20, &text, &err), TD_OK);
    char *copy = td_xasprintf("%.*s", (int)text.len, (const char *)text.data), *rest = copy;
    for (char *line = NULL; (line = strsep(&rest, "\n"));) {
        if (strncmp(line, "core ", 5) == 0) {
            snprintf(vendor->core, sizeof(vendor->core), "%s", line + 5);
            fx_uarch_load(&described, vendor->core);
        }
        if (!described.core)
            continue;
        if (strncmp(line, "event ", 6) == 0)
            add_event(vendor, described.core, line + 6);
        else if (strncmp(line, "given ", 6) == 0)
            add_given(vendor, described.core, line + 6);
        else if (strchr("lnm", *line) && strstr(line, " = "))
            add_formula(vendor, described.core, strchr(line, ' ') + 1, *line);
        if ((*line == '\0' || !rest) && vendor->len) {
            compare(vendor, described.core, &cores);
            fx_uarch_unload(&described);
            described = (struct fx_uarch){0};
        }
    }
    free(path);
    free(copy);
    free(vendor);
    td_buf_release(&text);
    return cores;
}

static void formulas_equal_the_vendors(void **state)
{
    (void)state;
    assert_int_equal(compare_file("intel_tma.txt"), 26);
    assert_int_equal(compare_file("arm_amd.txt"), 15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formulas_equal_the_vendors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
