# SPDX-License-Identifier: MIT
# CPI stacks of a program, of its hottest functions and of one, at 80 columns; what has no instructions is refused.
. "$CASES/profiles.inc"
make_sim 'env parameter width=6' 'thread 200 201 worker worker' \
    'tally 1 0 1000000 600000,0,0,600000,0,0,1200000 0:0x2020' >profile.td
export COLUMNS=80
tdreport cpi
echo ----
tdreport cpi chase --topdown-level 1 --percent-limit 0
echo ----
tdreport cpi --process worker -n 0 --percent-limit 60
echo ----
tdreport cpi --topdown-level 2 --json branchy --process app | sed -n '/"cpi_stack"/,$p'
echo ----
make_pmu >pmu.td
tdreport cpi pmu.td --thread app -n 1
for refused in 'chas' 'chase branchy' '--topdown-level 0' '--topdown-lvel 2' \
    '--event slots pmu.td'; do
    # shellcheck disable=SC2086 # words
    tdreport cpi $refused
    echo "exit $?"
done
make_clock >clock.td
tdreport cpi clock.td
echo "exit $?"
make_hybrid >hybrid.td
tdreport cpi hybrid.td -n 1
echo "exit $?"
# One kind of core of two that counted no instructions.
{
    pmu_head alder-lake-p,alder-lake-e
    echo slots cpu_core "$METRICS"
    echo slots cpu_atom cycles topdown_retiring topdown_bad_spec topdown_fe_bound topdown_be_bound
    pmu_samples 0 80
    echo sample 0 1 4 1500000000 200000,400000,100000,400000,100000 0:4128
} | "$COMPOSE" >some.td
tdreport cpi some.td
echo "exit $?"
{
    pmu_head sapphire-rapids
    echo slots - "${METRICS/ cycles inst_retired/}"
    pmu_samples 0 100 | sed -E 's/([^,]*,[^,]*,[^,]*)$/\1/'
} | "$COMPOSE" >none.td
tdreport cpi none.td
echo "exit $?"
tdreport cpi profile.td --weights clock.td
echo "exit $?"
