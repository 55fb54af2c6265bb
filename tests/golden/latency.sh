# SPDX-License-Identifier: MIT
# Precise samples of a load event and of AMD's IBS: how long they waited, and where the data came from.
. "$CASES/profiles.inc"
load=$((2 | 2 << 5)) hitm=$((16 << 19)) walk=$((20 << 26))
level() { echo $((load | $1 << 5)); }
{
    cat <<'P'
env argv ./app
env source pmu
env kernel 6.12.0
module kernel [kernel]
module file /opt/app/bin/a-very-long-name-of-a-binary
symbol 0 0x1000 0x100 chase
symbol 0 0x2000 0x100 std::vector<std::pair<int, long>, std::allocator<std::pair<int, long> > >::emplace_back<int&, long&>(int&, long&)
thread 100 100 app app
weigh mem_load_retired.l3_miss period latency instr-latency retire-latency data-source
weigh ibs_op period flags latency tlb-latency
P
    for i in 1 2 3 4 5 6 7 8 9; do
        echo "sample 0 0 0 ${i}000 1000,1000,$((300 + i)),$((340 + i)),$((100 * i)),$(level $((0x80))) 0:0x1010"
    done
    echo "sample 0 0 0 10000 1000,1000,80,90,0,$(($(level $((0x40))) | hitm)) 0:0x2010"
    echo "sample 0 0 0 11000 1000,1000,600,610,500,$(($(level $((0x100))) | walk)) 1:0x10"
    echo "sample 0 1 0 12000 1000,1000,0x8,0,0 0:0x1010"
    echo "sample 0 1 0 13000 1000,1000,0xe8,410,0 0:0x1010"
    echo "sample 0 1 0 14000 1000,1000,0x628,25,90 0:0x2010"
    echo "sample 0 1 0 15000 1000,1000,0x4,0,0 0:0x2010"
} | "$COMPOSE" >profile.td
export COLUMNS=80
tdreport latency
echo ----
tdreport latency --lines -n 1 --event ibs_op
echo ----
tdreport latency --json --function chase --event mem_load_retired.l3_miss | sed -n '/"latency"/,$p'
echo ----
tdreport latency --function nothing
echo "exit $?"
tdreport latency --event mem_load_retired
echo "exit $?"
# A core without timed samples: the vendor's static latency, named as such.
{
    pmu_head sapphire-rapids
    echo counter 0 803
    echo counter 6 400000000
    echo slots - "$METRICS"
    echo locate l3_bound - mem_load_l3_hit 100021
    pmu_samples 0 800
    for i in 1 2 3; do echo "sample 0 1 0 150000${i}000 100021 0:$((i < 3 ? 4128 : 8224))"; done
} | "$COMPOSE" >static.td
tdreport latency -i static.td
echo ----
make_sim >sim.td
tdreport latency -i sim.td
echo "exit $?"
make_clock >clock.td
tdreport latency clock.td
echo "exit $?"
tdreport latencies
echo "exit $?"
