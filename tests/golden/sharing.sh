# SPDX-License-Identifier: MIT
# Lines that threads share: the costliest first, both sides of each, false sharing apart; many lines together; a merge
# adds them up; a profile without them, and words that are none.
. "$CASES/profiles.inc"
make_sim 'thread 100 101 app worker' 'counter 1 10000000' \
    'shared 0 4198400 1 0 4096 0 0 4096 1 1 0 4112 1 1 9000 0 2000000' \
    'shared 0 4198400 1 0 4096 1 0 4112 1 0 0 4096 1 1 8000 0 1500000' \
    'shared 0 4198400 1 0 4096 1 0 4128 0 0 0 4096 1 0 10 0 1000' \
    'shared 0 8198400 2 - 0 1 0 4128 0 0 0 4096 1 0 700 0 900000' \
    'shared 0 8198400 2 - 0 0 0 4096 1 1 0 4128 0 0 0 600 800000' \
    'shared 0 0 4 - 0 0 0 4096 1 1 0 4128 1 0 5000 0 600000' \
    'shared 0 9198400 3 - 0 0 0 4096 1 1 0 4128 0 0 1 0 122' >profile.td
tdreport sharing -w 80
tdreport sharing -w 80 -n 1
tdreport sharing --json | sed -n '/"sharing"/,$p'
cp profile.td other.td
tdreport merge -o sum.td profile.td other.td >merged.txt
tdreport sharing -w 80 -n 1 -i sum.td
tdreport dump -i sum.td | grep -E '  shared '
# Of a sampled run the parts that were modelled exactly are told, and no share of all cycles; with --toggle the whole run.
make_sim 'thread 100 101 app worker' 'counter 1 10000000' 'counter 19 1000' 'counter 20 10' \
    'shared 0 8198400 2 - 0 1 0 4128 0 0 0 4096 1 0 700 0 900000' >sampled.td
tdreport sharing -w 80 -i sampled.td | sed -n '/^sharing/,/^$/p'
tdreport sharing --json -i sampled.td | grep modelled_cycles
make_sim 'env parameter toggle=chase' 'thread 100 101 app worker' 'counter 1 1000' \
    'shared 0 8198400 2 - 0 1 0 4128 0 0 0 4096 1 0 700 0 900000' >toggled.td
tdreport sharing -w 80 -i toggled.td | sed -n '/^sharing/,/^$/p'
make_sim >none.td
tdreport sharing -i none.td || echo "exit $?"
tdreport sharing -n x || echo "exit $?"
tdreport sharin -i none.td || echo "exit $?"
tdreport sharing --json -n 1 | grep -o '"address": [0-9]*' # the costliest alone
tdreport sharing -w 80 -n 0 | grep -c '^ *[0-9.]*  .*  true ' # all, however little they cost
make_sim cut >cut.td
tdreport sharing -i cut.td || echo "exit $?"
# How their threads take turns is another each run: the report says so, and one run a side proves next to nothing.
. "$CASES/diff.inc"
tdreport -w 80 -i profile.td | grep -A3 '^note  *threads share'
tdreport -w 80 -i toggled.td | grep -c '^note  *threads share' # they share next to nothing
make_faster golden-cove 1000000000 >faster.td
tdreport diff -w 80 profile.td faster.td --fail-if 'total < -5 %' | grep -e '^No' -e '^note' -e assumed
tdreport diff profile.td faster.td --fail-if 'total < -5 %' >diff.txt
echo "exit $?"
tdreport diff none.td faster.td --fail-if 'total < -5 %' >diff.txt
echo "exit $?"
# Where what is high is what threads pay for shared lines, the next thing is to see them. A name that is cut keeps
# within the page, and small components that come to nothing have no row.
"$COMPOSE" >contested.td <<P
env argv ./app
env source sim
env core golden-cove
env parameter clock_hz=1000000000
env parameter width=6
counter 18 767000000
counter 19 600000000
module file /usr/bin/a_module_with_a_long_name
symbol 0 0x1000 0x100 a_function_that_has_a_long_name_too
symbol 0 0x2000 0x100 another_function_that_is_long
thread 100 100 app app
thread 100 101 app worker
sim light_operations contested_accesses l1_bound ports_utilization icache_misses branch_mispredicts
tally 0 0 100000000 100000000,3001900000,200,100,100,99600,517000000 0:0x1010
tally 1 0 500000000 500000000,999900000,200,100,100,99600,250000000 0:0x2010
shared 0 4198400 1 0 4096 0 0 4112 1 1 0 4112 1 1 9000 0 200000000
P
tdreport -w 80 -i contested.td | sed -n '/^high/p;/^next/,/explain/p;/^Hot functions/,/another/p' | head -8
tdreport cpi -w 80 contested.td -n 1 --percent-limit 0.1 | sed -n '/component/,/total/p'
# Serializing operations where a thread waits, by loads, for a line that another stores to: it spins. Elsewhere they
# are what they are always.
spin_at() {
    "$COMPOSE" <<P
env argv ./app
env source sim
env core golden-cove
env parameter clock_hz=1000000000
env parameter width=6
counter 18 100000000
counter 19 150000000
module file /usr/bin/app
symbol 0 0x1000 0x100 wait_for_flag
symbol 0 0x2000 0x100 set_flag
thread 100 100 app app
thread 100 101 app worker
sim light_operations serializing_operation l1_bound ports_utilization icache_misses branch_mispredicts
tally 0 0 60000000 60000000,300000000,12000000,18000000,6000000,24000000,70000000 0:0x1010
tally 1 0 90000000 90000000,0,6000000,12000000,2000000,70000000,30000000 0:0x2010
shared 0 4198400 1 0 4096 0 0 $1 0 1 0 8208 1 0 900 0 2000000
P
}
spin_at 4112 >spins.td
spin_at 8224 >other.td
for i in spins.td other.td; do
    tdreport -w 80 -i "$i" | sed -n '/^high/,/^look/p;/^next/,/explain/p' | head -12
done
