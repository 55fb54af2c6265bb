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
    /* Ian Rogers' patch to perf stat for events that may be skipped, linux-kernel, 2023: an Ice
       Lake client. */
    {"ice-lake-x",
     "slots=998790 topdown_retiring=144922 topdown_bad_spec=184090 topdown_fe_bound=411266 "
     "topdown_be_bound=258510 uop_dropping=2585 clears_count=3434 cycles=287017 "
     "inst_retired=133318 br_inst_retired=31396 br_misp_retired=2442",
     "retiring=14.5 bad_speculation=17.0 frontend_bound=40.9 backend_bound=27.6 ipc=0.46 "
     "branch_miss_ratio=7.78"},
    /* Kan Liang's patch to perf stat that prints metric groups by default, linux-kernel, 2023:
       Sapphire Rapids. */
    {"sapphire-rapids",
     "slots=3245820 topdown_retiring=564859 topdown_bad_spec=744874 topdown_fe_bound=1370999 "
     "topdown_be_bound=603271 uop_dropping=12661 cycles=540970 inst_retired=556325 "
     "br_inst_retired=123602 br_misp_retired=6889",
     "retiring=17.2 bad_speculation=23.1 frontend_bound=41.4 backend_bound=18.4 ipc=1.03 "
     "branch_miss_ratio=5.57"},
    /* Kan Liang's patch to perf stat that counts top-down by default, linux-kernel: an Ice Lake. */
    {"ice-lake-x",
     "slots=1585555 topdown_retiring=238941 topdown_bad_spec=410378 topdown_fe_bound=634222 "
     "topdown_be_bound=304675 uop_dropping=0 clears_count=0 cycles=319941 inst_retired=242802 "
     "br_inst_retired=54380 br_misp_retired=4043",
     "retiring=15.0 bad_speculation=25.8 frontend_bound=39.9 backend_bound=19.2 ipc=0.76 "
     "branch_miss_ratio=7.43"},
    /* perf stat of a matching engine with AVX-512 and of an encoder of AAC in ffmpeg, as their
       authors published it. */
    {"ice-lake-x",
     "slots=457433665 topdown_retiring=303161919 topdown_bad_spec=75342015 "
     "topdown_fe_bound=44846437 topdown_be_bound=34083292 uop_dropping=0 clears_count=0 "
     "cycles=93540622 inst_retired=312683169 br_inst_retired=62327380 br_misp_retired=421471",
     "retiring=66.3 bad_speculation=16.5 frontend_bound=9.8 backend_bound=7.5 ipc=3.34 "
     "branch_miss_ratio=0.68"},
    {"ice-lake-x",
     "slots=2749563850 topdown_retiring=1546523722 topdown_bad_spec=287984603 "
     "topdown_fe_bound=192997631 topdown_be_bound=731352157 uop_dropping=0 clears_count=0 "
     "cycles=557024381 inst_retired=1542312588 br_inst_retired=133136305 br_misp_retired=1333435",
     "retiring=56.1 bad_speculation=10.4 frontend_bound=7.0 backend_bound=26.5 ipc=2.77 "
     "branch_miss_ratio=1.00"},
    /* Kan Liang's patch to perf stat that counts level 2 by default, linux-kernel: Sapphire Rapids.
     */
    {"sapphire-rapids",
     "slots=8431908 topdown_retiring=1554116 topdown_bad_spec=1289585 topdown_fe_bound=2810636 "
     "topdown_be_bound=2810636 uop_dropping=0 cycles=1405318 inst_retired=1471136 "
     "br_inst_retired=310132 br_misp_retired=10435 topdown_heavy_ops=231464 "
     "topdown_br_mispredict=1223453 topdown_fetch_lat=1884779 topdown_mem_bound=1454917",
     "retiring=18.4 bad_speculation=15.2 frontend_bound=33.2 backend_bound=33.2 ipc=1.05 "
     "branch_miss_ratio=3.36 heavy_operations=2.7 light_operations=15.6 branch_mispredicts=14.5 "
     "machine_clears=0.8 fetch_latency=22.3 fetch_bandwidth=10.9 memory_bound=17.2 "
     "core_bound=16.0"},
    /* Zhengjun Xing's patches to perf stat for hybrid machines, linux-kernel: Alder Lake, P cores.
     */
    {"alder-lake-p",
     "slots=14761308 topdown_retiring=3288625 topdown_bad_spec=1323323 topdown_fe_bound=5477470 "
     "topdown_be_bound=4679199 uop_dropping=0 topdown_heavy_ops=646194 "
     "topdown_br_mispredict=1244999 topdown_fetch_lat=3891800 topdown_mem_bound=1879034",
     "retiring=22.3 bad_speculation=9.0 frontend_bound=37.1 backend_bound=31.7 "
     "heavy_operations=4.4 light_operations=17.9 branch_mispredicts=8.4 machine_clears=0.5 "
     "fetch_latency=26.4 fetch_bandwidth=10.7 memory_bound=12.7 core_bound=19.0"},
    {"alder-lake-p",
     "slots=123097644 topdown_retiring=9241207 topdown_bad_spec=8903288 topdown_fe_bound=66590029 "
     "topdown_be_bound=38397500 uop_dropping=0 topdown_heavy_ops=3294283 "
     "topdown_br_mispredict=8855769 topdown_fetch_lat=57695714 topdown_mem_bound=12823926",
     "retiring=7.5 bad_speculation=7.2 frontend_bound=54.1 backend_bound=31.2 heavy_operations=2.7 "
     "light_operations=4.8 branch_mispredicts=7.2 machine_clears=0.0 fetch_latency=46.9 "
     "fetch_bandwidth=7.2 memory_bound=10.4 core_bound=20.8"},
    /* An introduction to perf, perf stat -d of a program on the P cores of a hybrid. */
    {"alder-lake-p",
     "slots=149655475560 topdown_retiring=56421087566 topdown_bad_spec=3521305307 "
     "topdown_fe_bound=24663886105 topdown_be_bound=67491685056 uop_dropping=0 "
     "topdown_heavy_ops=1173768435 topdown_br_mispredict=3521305307 topdown_fetch_lat=6873757561 "
     "topdown_mem_bound=27000267908",
     "retiring=37.1 bad_speculation=2.3 frontend_bound=16.2 backend_bound=44.4 "
     "heavy_operations=0.8 light_operations=36.3 branch_mispredicts=2.3 machine_clears=0.0 "
     "fetch_latency=4.5 fetch_bandwidth=11.7 memory_bound=17.8 core_bound=26.6"},
    /* perf stat -ddd on Zen 4, AMD's pipeline metrics of level 2: KeithJH/kinematics-demo and notes
       beside it; each group of events was counted with cycles of its own. */
    {"zen4-server",
     "cycles=39397592372 backend_stalls=46610032477 load_not_complete=4438530678 "
     "not_complete=11233710720",
     "core_bound=11.9 memory_bound=7.8"},
    {"zen4-server", "cycles=39424546035 ops_retired=179626958478 ucode_ops_retired=54133857",
     "light_operations=75.9 heavy_operations=0.0"},
    {"zen4-server", "cycles=39437034984 no_ops_from_frontend=6767421338 frontend_empty=584180124",
     "fetch_bandwidth=1.4 fetch_latency=1.5"},
    {"zen4-server",
     "cycles=33155255849 backend_stalls=42846947881 load_not_complete=5280720921 "
     "not_complete=10733051787",
     "core_bound=10.9 memory_bound=10.6"},
    {"zen4-server", "cycles=33169607697 ops_retired=148044431598 ucode_ops_retired=13998949",
     "light_operations=74.4 heavy_operations=0.0"},
    {"zen4-server", "cycles=33174251783 no_ops_from_frontend=5449429645 frontend_empty=299000905",
     "fetch_bandwidth=1.8 fetch_latency=0.9"},
    {"zen4-server",
     "cycles=2967475722 backend_stalls=10422236082 load_not_complete=19677008 "
     "not_complete=1583375575",
     "core_bound=57.8 memory_bound=0.7"},
    {"zen4-server", "cycles=2968620178 ops_retired=6971819402 ucode_ops_retired=1194993",
     "light_operations=39.1 heavy_operations=0.0"},
    {"zen4-server", "cycles=2969195241 no_ops_from_frontend=324498932 frontend_empty=17402703",
     "fetch_bandwidth=1.2 fetch_latency=0.6"},
    {"zen4-server",
     "cycles=26880018200 backend_stalls=9575611252 load_not_complete=75471148 "
     "not_complete=5037941586",
     "core_bound=5.8 memory_bound=0.1"},
    {"zen4-server", "cycles=26889657796 ops_retired=147389079874 ucode_ops_retired=10645341",
     "light_operations=91.3 heavy_operations=0.0"},
    {"zen4-server", "cycles=26895507705 no_ops_from_frontend=4030323686 frontend_empty=85956501",
     "fetch_bandwidth=2.2 fetch_latency=0.3"},
    {"zen4-server",
     "cycles=61713748438 backend_stalls=299048140951 load_not_complete=35573254326 "
     "not_complete=47689982568",
     "core_bound=20.5 memory_bound=60.2"},
    {"zen4-server", "cycles=61763800440 ops_retired=55164197902 ucode_ops_retired=168680672",
     "light_operations=14.8 heavy_operations=0.0"},
    {"zen4-server", "cycles=61799648939 no_ops_from_frontend=12892057596 frontend_empty=1761848048",
     "fetch_bandwidth=0.6 fetch_latency=2.9"},
    {"zen4-server",
     "cycles=38173223007 backend_stalls=187341352204 load_not_complete=22452988267 "
     "not_complete=30710508182",
     "core_bound=22.0 memory_bound=59.8"},
    {"zen4-server", "cycles=38198170623 ops_retired=33051388333 ucode_ops_retired=102907056",
     "light_operations=14.4 heavy_operations=0.0"},
    {"zen4-server", "cycles=38217431974 no_ops_from_frontend=6842680662 frontend_empty=907880396",
     "fetch_bandwidth=0.6 fetch_latency=2.4"},
    {"zen4-server",
     "cycles=41345214760 backend_stalls=200610431519 load_not_complete=22790249007 "
     "not_complete=31703847460",
     "core_bound=22.7 memory_bound=58.1"},
    {"zen4-server", "cycles=41381440479 ops_retired=37064759606 ucode_ops_retired=109515716",
     "light_operations=14.9 heavy_operations=0.0"},
    {"zen4-server", "cycles=41405880037 no_ops_from_frontend=8305523759 frontend_empty=1109980876",
     "fetch_bandwidth=0.7 fetch_latency=2.7"},
    {"zen4-server",
     "cycles=43472693967 backend_stalls=209654133773 load_not_complete=26022776903 "
     "not_complete=34682828102",
     "core_bound=20.1 memory_bound=60.3"},
    {"zen4-server", "cycles=43511023923 ops_retired=40404519861 ucode_ops_retired=118573175",
     "light_operations=15.4 heavy_operations=0.0"},
    {"zen4-server", "cycles=43537167471 no_ops_from_frontend=8727048218 frontend_empty=1182074073",
     "fetch_bandwidth=0.6 fetch_latency=2.7"},
    {"zen4-server",
     "cycles=45522649730 backend_stalls=224849027992 load_not_complete=24886000565 "
     "not_complete=35333377051",
     "core_bound=24.3 memory_bound=58.0"},
    {"zen4-server", "cycles=45556855373 ops_retired=38412233582 ucode_ops_retired=117876116",
     "light_operations=14.0 heavy_operations=0.0"},
    {"zen4-server", "cycles=45576278997 no_ops_from_frontend=7789830598 frontend_empty=1075229713",
     "fetch_bandwidth=0.5 fetch_latency=2.4"},
    {"zen4-server",
     "cycles=52681078777 backend_stalls=254793150309 load_not_complete=30460085095 "
     "not_complete=40753146750",
     "core_bound=20.4 memory_bound=60.2"},
    {"zen4-server", "cycles=52727754917 ops_retired=47962310971 ucode_ops_retired=145769746",
     "light_operations=15.1 heavy_operations=0.0"},
    {"zen4-server", "cycles=52753827046 no_ops_from_frontend=10680016198 frontend_empty=1415570013",
     "fetch_bandwidth=0.7 fetch_latency=2.7"},
    {"zen4-server",
     "cycles=105598034281 backend_stalls=480522837700 load_not_complete=5036308790 "
     "not_complete=87389897172",
     "core_bound=71.5 memory_bound=4.4"},
    {"zen4-server", "cycles=105641921876 ops_retired=93938664040 ucode_ops_retired=5447384862",
     "light_operations=14.0 heavy_operations=0.9"},
    {"zen4-server",
     "cycles=105661601675 no_ops_from_frontend=57773673933 frontend_empty=7987372736",
     "fetch_bandwidth=1.6 fetch_latency=7.6"},
    {"zen4-server",
     "cycles=228759804488 backend_stalls=763314291096 load_not_complete=5146579719 "
     "not_complete=115004469145",
     "core_bound=53.1 memory_bound=2.5"},
    {"zen4-server", "cycles=228841683026 ops_retired=555175764260 ucode_ops_retired=5510222951",
     "light_operations=40.0 heavy_operations=0.4"},
    {"zen4-server",
     "cycles=228889915295 no_ops_from_frontend=53811244721 frontend_empty=8148430882",
     "fetch_bandwidth=0.4 fetch_latency=3.6"},
    {"zen4-server",
     "cycles=4370599879 backend_stalls=10474861146 load_not_complete=7843982 "
     "not_complete=344907360",
     "core_bound=39.0 memory_bound=0.9"},
    {"zen4-server", "cycles=4372398990 ops_retired=15041870347 ucode_ops_retired=1866393",
     "light_operations=57.3 heavy_operations=0.0"},
    {"zen4-server", "cycles=4373285636 no_ops_from_frontend=607301545 frontend_empty=30192870",
     "fetch_bandwidth=1.6 fetch_latency=0.7"},
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

static size_t wrong_in(const struct published *set, size_t *results)
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
    for (rest = wanted; next_word(&rest, &name, &value); ++*results) {
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
    size_t wrong = 0, results = 0;

    (void)state;
    for (size_t i = 0; i < TD_ARRAY_SIZE(published); i++)
        wrong += wrong_in(&published[i], &results);
    print_message("%zu results of %zu sets of counts\n", results, TD_ARRAY_SIZE(published));
    assert_int_equal(wrong, 0);
    assert_true(results >= 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formulas_print_what_was_published),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
