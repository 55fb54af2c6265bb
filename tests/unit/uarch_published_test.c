/* SPDX-License-Identifier: MIT */
/* Counts that others published together with what their tool made of them: the descriptions' own
 * formulas must print the same, to the digit. perf's own percentages of the perf metrics know no
 * dropped uops and no clears: where only those are published, both are 0 here. */
#include "uarch_fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"

struct published {
    const char *core;
    const char *counts; /* "event=count ...", what was counted together */
    const char *wanted; /* "node=12.3 metric=1.5 ...", as printed; nodes and ratios in % */
};

static const struct published published[] = {
    /* "Add metrics for neoverse-n2-v2", v8, linux-kernel, 17 January 2023 (Alibaba): level 1 of a
     * program that shares a cache line; TLB and branch groups. */
    {"neoverse-n2-r0p0",
     "cycles=3408960257 stall_slot=19576079610 op_spec=877673452 op_retired=876324270 "
     "br_mis_pred=0",
     "bad_speculation=0.0 retiring=5.1"},
    {"neoverse-n2-r0p0", "cycles=3406548064 stall_slot_frontend=7961814801 br_mis_pred=0",
     "frontend_bound=26.7"},
    {"neoverse-n2-r0p0", "cycles=3415528440 stall_slot_backend=11746647747 br_mis_pred=0",
     "backend_bound=68.8"},
    {"neoverse-n2-r0p0", "l2d_tlb=29940 l2d_tlb_refill=5998", "l2_tlb_miss_ratio=20.0"},
    {"neoverse-n2-r0p0", "l1i_tlb=2173957 l1i_tlb_refill=1753", "l1i_tlb_miss_ratio=0.1"},
    {"neoverse-n2-r0p0", "l1d_tlb=327944763 l1d_tlb_refill=22485", "l1d_tlb_miss_ratio=0.0"},
    {"neoverse-n2-r0p0", "l1i_tlb=497210 itlb_walk=28", "itlb_walk_ratio=0.0"},
    {"neoverse-n2-r0p0", "inst_retired=821488762 itlb_walk=122", "itlb_walk_mpki=0.0"},
    {"neoverse-n2-r0p0", "l1d_tlb=263913146 dtlb_walk=744", "dtlb_walk_ratio=0.0"},
    {"neoverse-n2-r0p0", "inst_retired=779073875 dtlb_walk=1050", "dtlb_walk_mpki=0.0"},
    {"neoverse-n2-r0p0", "inst_retired=901495 br_retired=201603 br_mis_pred_retired=9004",
     "branch_mpki=10.0 branch_miss_ratio=4.5"},
    /* The same series, v4, 23 December 2022: another machine. */
    {"neoverse-n2-r0p0",
     "cycles=4310905590 stall_slot=25009763735 op_spec=855659327 op_retired=854335288 "
     "br_mis_pred=0",
     "bad_speculation=0.0 retiring=4.0"},
    {"neoverse-n2-r0p0", "cycles=4330308058 stall_slot_frontend=10207186460 br_mis_pred=0",
     "frontend_bound=27.1"},
    {"neoverse-n2-r0p0", "cycles=4316583673 stall_slot_backend=14979136808 br_mis_pred=0",
     "backend_bound=69.4"},
    {"neoverse-n2-r0p0", "l2d_tlb=31561 l2d_tlb_refill=5944", "l2_tlb_miss_ratio=18.8"},
    {"neoverse-n2-r0p0", "l1i_tlb=2203195 l1i_tlb_refill=2248", "l1i_tlb_miss_ratio=0.1"},
    {"neoverse-n2-r0p0", "l1d_tlb=328647380 l1d_tlb_refill=26347", "l1d_tlb_miss_ratio=0.0"},
    /* Alibaba's guide to top-down analysis on the Yitian 710, version 1.0, 26 February 2023: its
     * level 1 is in uarch_pmu_test; the groups printed beside it. LL_CACHE_RD counts nothing there,
     * and a ratio to nothing is not known. */
    {"neoverse-n2-r0p0", "l2d_tlb=24682 l2d_tlb_refill=3506", "l2_tlb_miss_ratio=14.2"},
    {"neoverse-n2-r0p0", "l1i_tlb=1647782 l1i_tlb_refill=844", "l1i_tlb_miss_ratio=0.1"},
    {"neoverse-n2-r0p0", "l1d_tlb=324789500 l1d_tlb_refill=21142", "l1d_tlb_miss_ratio=0.0"},
    {"neoverse-n2-r0p0", "l1i_tlb=601629 itlb_walk=89", "itlb_walk_ratio=0.0"},
    {"neoverse-n2-r0p0", "inst_retired=833587916 itlb_walk=6", "itlb_walk_mpki=0.0"},
    {"neoverse-n2-r0p0", "l1d_tlb=267382086 dtlb_walk=275", "dtlb_walk_ratio=0.0"},
    {"neoverse-n2-r0p0", "inst_retired=769673871 dtlb_walk=176", "dtlb_walk_mpki=0.0"},
    {"neoverse-n2-r0p0", "inst_retired=1107780139 ll_cache_miss_rd=7392505", "ll_read_mpki=6.7"},
    {"neoverse-n2-r0p0", "ll_cache_miss_rd=7397206 ll_cache_rd=0", "ll_read_miss_ratio=nan"},
    {"neoverse-n2-r0p0", "inst_retired=841891447 l2d_cache_refill=7143534", "l2_mpki=8.5"},
    {"neoverse-n2-r0p0", "l2d_cache=14962069 l2d_cache_refill=7145383", "l2_miss_ratio=47.8"},
    {"neoverse-n2-r0p0", "inst_retired=823053776 l1i_cache_refill=17031", "l1i_mpki=0.0"},
    {"neoverse-n2-r0p0", "l1i_cache=141880099 l1i_cache_refill=24629", "l1i_miss_ratio=0.0"},
    {"neoverse-n2-r0p0", "inst_retired=784595695 l1d_cache_refill=7035459", "l1d_mpki=9.0"},
    {"neoverse-n2-r0p0", "l1d_cache=268178900 l1d_cache_refill=7220296", "l1d_miss_ratio=2.7"},
    {"neoverse-n2-r0p0", "inst_retired=903690694 br_retired=164002095 br_mis_pred_retired=14179",
     "branch_mpki=0.0 branch_miss_ratio=0.0"},
    {"neoverse-n2-r0p0", "inst_spec=1133344181 st_spec=80337890", "store_share=7.1"},
    {"neoverse-n2-r0p0", "inst_spec=1104052031 ld_spec=257618259", "load_share=23.3"},
    {"neoverse-n2-r0p0", "inst_spec=1067206099 vfp_spec=0", "fp_share=0.0"},
    {"neoverse-n2-r0p0", "inst_spec=803044283 dp_spec=400697153", "integer_share=49.9"},
    {"neoverse-n2-r0p0", "inst_spec=799727535 crypto_spec=0", "crypto_share=0.0"},
    {"neoverse-n2-r0p0", "inst_spec=850628196 ase_spec=257", "simd_share=0.0"},
    {"neoverse-n2-r0p0", "inst_spec=812129447 br_immed_spec=134980184 br_indirect_spec=0",
     "branch_share=16.6"},
    {"neoverse-n2-r0p0", "inst_spec=785639253 br_immed_spec=0 br_indirect_spec=9790638",
     "branch_share=1.2"},
    {"neoverse-n2-r0p0", "inst_retired=818118263 cycles=4345401504", "ipc=0.19"},
    /* Arm Learning Paths, "Learn the Arm Neoverse N1 performance analysis methodology". */
    {"neoverse-n1", "inst_retired=10002762164 cycles=45157063927", "ipc=0.22"},
    {"neoverse-n1", "cycles=44847565198 stall_backend=37845044034 stall_frontend=706422",
     "backend_stalled=84.39 frontend_stalled=0.00"},
    /* Arm Learning Paths, "Compare Arm Neoverse and Intel x86 top-down performance analysis": perf
     * stat -M topdownl1 on an Intel core of four slots; printed as parts of 1, here in %. */
    {"skylake-x",
     "core_clocks=19206823557 uops_issued=7030153262 uops_retired=7026625438 recovery=1111503",
     "retiring=9 bad_speculation=0"},
    {"skylake-x",
     "core_clocks=19201754818 uops_issued=7017115812 fetch_bubbles=31942584 recovery=704834",
     "backend_bound=91"},
    {"skylake-x", "core_clocks=19203260401 fetch_bubbles=26956040", "frontend_bound=0"},
    /* Andi Kleen in "perf: Fix perf_event_attr::exclusive rotation", linux-kernel, 3 November 2020:
     * an Ice Lake. */
    {"ice-lake-x",
     "slots=71229087 topdown_bad_spec=5066320 topdown_be_bound=35080387 topdown_fe_bound=22769750 "
     "topdown_retiring=8336760 uop_dropping=0 clears_count=0",
     "bad_speculation=7.1 backend_bound=49.2 frontend_bound=32.0 retiring=11.7"},
    /* Linux' commit d98079c05b5a, "perf evlist: Keep topdown counters in weak group". */
    {"ice-lake-x",
     "slots=31040189283 topdown_bad_spec=8997514811 topdown_be_bound=10997536028 "
     "topdown_fe_bound=4778060526 topdown_retiring=7086628768 uop_dropping=0 clears_count=0 "
     "cycles=8040889520 inst_retired=7709992319 br_inst_retired=1417611942 br_misp_retired=5285529",
     "bad_speculation=28.2 backend_bound=34.5 frontend_bound=15.0 retiring=22.2 ipc=0.96 "
     "branch_miss_ratio=0.37"},
    /* DavidAntliff/RTC-Rust, README: a ray tracer, in C++ and twice in Rust. */
    {"ice-lake-x",
     "slots=144275900080 topdown_retiring=90526054952 topdown_bad_spec=11881544712 "
     "topdown_fe_bound=39039361198 topdown_be_bound=3206197698 uop_dropping=0 clears_count=0 "
     "cycles=29017092620 inst_retired=97401205035 br_inst_retired=13300398903 "
     "br_misp_retired=78188392",
     "retiring=62.6 bad_speculation=8.2 frontend_bound=27.0 backend_bound=2.2 ipc=3.36 "
     "branch_miss_ratio=0.59"},
    {"ice-lake-x",
     "slots=65775579875 topdown_retiring=40755065177 topdown_bad_spec=6190642811 "
     "topdown_fe_bound=11233919860 topdown_be_bound=7912705896 uop_dropping=0 clears_count=0 "
     "cycles=13185017404 inst_retired=42668214735 br_inst_retired=5032009860 "
     "br_misp_retired=52054965",
     "retiring=61.7 bad_speculation=9.4 frontend_bound=17.0 backend_bound=12.0 ipc=3.24 "
     "branch_miss_ratio=1.03"},
    {"ice-lake-x",
     "slots=49167467990 topdown_retiring=29500480794 topdown_bad_spec=5205967198 "
     "topdown_fe_bound=8483798398 topdown_be_bound=5977221598 uop_dropping=0 clears_count=0 "
     "cycles=9850975494 inst_retired=31482049466 br_inst_retired=4953545286 "
     "br_misp_retired=52700609",
     "retiring=60.0 bad_speculation=10.6 frontend_bound=17.3 backend_bound=12.2 ipc=3.20 "
     "branch_miss_ratio=1.06"},
    /* Ian Rogers, "perf metricgroup: Add care to picking the evsel for displaying a metric",
     * linux-kernel, 11 November 2025: Alder Lake, P-cores and E-cores, four runs. perf takes the E
     * cores' bad speculation for what is left, so it is not compared. */
    {"alder-lake-p",
     "slots=7782334296 topdown_retiring=2668927977 topdown_bad_spec=803623987 "
     "topdown_fe_bound=1555265776 topdown_be_bound=2792733013 uop_dropping=10790192",
     "bad_speculation=10.4 frontend_bound=19.7 backend_bound=35.7 retiring=34.1"},
    {"alder-lake-p",
     "slots=2377551258 topdown_retiring=480791142 topdown_bad_spec=186323991 "
     "topdown_fe_bound=871733444 topdown_be_bound=848286598 uop_dropping=3055447",
     "bad_speculation=7.9 frontend_bound=36.4 backend_bound=35.5 retiring=20.1"},
    {"alder-lake-p",
     "slots=1615145897 topdown_retiring=243037087 topdown_bad_spec=129341306 "
     "topdown_fe_bound=696940348 topdown_be_bound=563319011 uop_dropping=2679894",
     "bad_speculation=8.1 frontend_bound=42.5 backend_bound=34.5"},
    {"alder-lake-p",
     "slots=11086754658 topdown_retiring=3219475010 topdown_bad_spec=820655931 "
     "topdown_fe_bound=4082884459 topdown_be_bound=3012532414 uop_dropping=14988684",
     "bad_speculation=7.5 frontend_bound=36.5 backend_bound=27.1 retiring=28.9"},
    {"alder-lake-e",
     "cycles=457917232 topdown_retiring=279769310 topdown_fe_bound=783519226 "
     "topdown_be_bound=879845633",
     "retiring=12.2 frontend_bound=34.2 backend_bound=38.4"},
    {"alder-lake-e",
     "cycles=419576513 topdown_retiring=260936456 topdown_fe_bound=797132597 "
     "topdown_be_bound=671014164",
     "retiring=12.4 frontend_bound=38.0 backend_bound=32.0"},
    {"alder-lake-e",
     "cycles=1185093601 topdown_retiring=1030171196 topdown_fe_bound=2154914153 "
     "topdown_be_bound=1763486868",
     "retiring=17.4 frontend_bound=36.4 backend_bound=29.8"},
};

struct loaded {
    struct fx_uarch described;
    double *counts;
};

static void load(struct loaded *ret, const char *name)
{
    fx_uarch_load(&ret->described, name);
    const size_t events = ret->described.core->event_count;
    ret->counts = td_xcalloc(events, sizeof(*ret->counts));
    for (size_t i = 0; i < events; i++)
        ret->counts[i] = NAN;
}

static void unload(struct loaded *loaded)
{
    free(loaded->counts);
    fx_uarch_unload(&loaded->described);
}

/* The next "name=value" of a list, cut in two; false at its end. */
static bool next_word(char **rest, char **name, char **value)
{
    *name = strsep(rest, " ");
    if (!*name)
        return false;
    *value = strchr(*name, '=');
    assert_non_null(*value);
    *(*value)++ = '\0';
    return true;
}

/* In the unit that it is printed in: nodes and ratios in %. */
static double value_of(const struct loaded *loaded, const char *name)
{
    const enum td_tma_node node = td_tma_by_id(name);

    if (node != TD_NODE_NONE)
        return 100 * td_pmu_core_formula(loaded->described.core, node, loaded->counts, 0);
    for (size_t i = 0; i < loaded->described.core->metric_count; i++) {
        const struct td_pmu_metric *metric = &loaded->described.core->metrics[i];

        if (strcmp(metric->name, name) == 0)
            return td_pmu_core_metric(loaded->described.core, metric, loaded->counts, 0) *
                   (strcmp(metric->unit, "ratio") == 0 ? 100 : 1);
    }
    return NAN;
}

static int digits_of(const char *number)
{
    const char *point = strchr(number, '.');

    return point ? (int)strlen(point + 1) : 0;
}

static size_t wrong_in(const struct published *set)
{
    struct loaded loaded = {0};
    char *counts = td_xstrdup(set->counts), *wanted = td_xstrdup(set->wanted);
    char *rest = counts, *name = NULL, *value = NULL;
    size_t wrong = 0;

    load(&loaded, set->core);
    while (next_word(&rest, &name, &value)) {
        const int event = td_pmu_core_event(loaded.described.core, name);

        assert_true(event >= 0 && td_parse_double(value, &loaded.counts[event]));
    }
    for (rest = wanted; next_word(&rest, &name, &value);) {
        char got[64];

        snprintf(got, sizeof(got), "%.*f", digits_of(value), fabs(value_of(&loaded, name)));
        if (strcmp(got, value) == 0)
            continue;
        print_error("%s: %s of %s is %s, published is %s\n", set->core, name, set->counts, got,
                    value);
        wrong++;
    }
    free(counts);
    free(wanted);
    unload(&loaded);
    return wrong;
}

static void formulas_print_what_was_published(void **state)
{
    size_t wrong = 0;

    (void)state;
    for (size_t i = 0; i < TD_ARRAY_SIZE(published); i++)
        wrong += wrong_in(&published[i]);
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formulas_print_what_was_published),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
