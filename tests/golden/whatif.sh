# SPDX-License-Identifier: MIT
# The same run on other cores: as a whole and by function, in the verdict, merged, in JSON; what has none says how to record it.
. "$CASES/profiles.inc"
make_sim 'env parameter width=6' 'vary branches' 'vary l1+width=8' \
    'tally 0 1 0 400000000,50000000 0:0x1010' 'tally 0 1 0 60000000,100000000 0:0x1010 0:0x2010' \
    'tally 0 2 0 80000000,50000000 0:0x1010' 'tally 0 2 0 240000000,100000000 0:0x1010 0:0x2010' >profile.td
export COLUMNS=80
tdreport whatif
echo ----
tdreport whatif --thread app -n 1 --function branchy
echo ----
tdreport whatif --json -n 1 | sed -n '/"what_if"/,$p'
echo ----
tdreport | sed -n '/^high/,/^next/p'
echo ----
tdreport merge -o both.td profile.td profile.td && tdreport whatif both.td -n 1
echo ----
make_sim 'env parameter width=6' >plain.td
tdreport merge -o half.td profile.td plain.td && tdreport whatif half.td -n 1
tdreport half.td | grep 'what if'
for refused in plain.td 'profile.td chase' '-n x' '--rwos 1'; do
    # shellcheck disable=SC2086 # words
    tdreport whatif $refused
    echo "exit $?"
done
make_clock >clock.td
tdreport whatif clock.td
echo "exit $?"
echo ----
make_sim 'env parameter width=6' 'counter 20 15000000' 'counter 21 3000000' 'vary branches' 'vary l1+width=8' \
    'tally 0 1 0 400000000,50000000 0:0x1010' 'tally 0 1 0 60000000,100000000 0:0x1010 0:0x2010' \
    'tally 0 2 0 80000000,50000000 0:0x1010' 'tally 0 2 0 240000000,100000000 0:0x1010 0:0x2010' >sampled.td
tdreport whatif sampled.td
tdreport sampled.td | grep -A1 'what if\|with perfect'
tdreport whatif --json -n 1 sampled.td | grep -A6 '"what_if": \[$'
echo ----
# Each alternative has a column, in as many tables as it takes; a long name has lines of its own. Threads that share
# lines come in another order on each core.
make_sim 'env parameter width=6' 'counter 1 100000000' 'thread 100 101 app worker' \
    'shared 0 4198400 1 0 4096 0 0 4096 1 1 0 4112 1 1 9000 0 2000000' \
    'vary branches' 'vary l1+width=8' 'vary divider' 'vary tlb+frontend+branches+store_buffer=128' 'vary l3' \
    'tally 0 1 0 400000000,50000000 0:0x1010' 'tally 0 1 0 60000000,100000000 0:0x1010 0:0x2010' \
    'tally 0 2 0 80000000,50000000 0:0x1010' 'tally 0 2 0 240000000,100000000 0:0x1010 0:0x2010' \
    'tally 0 3 0 420000000,50000000 0:0x1010' 'tally 0 3 0 180000000,100000000 0:0x1010 0:0x2010' \
    'tally 0 4 0 320000000,50000000 0:0x1010' 'tally 0 4 0 60000000,100000000 0:0x1010 0:0x2010' \
    'tally 0 5 0 220000000,50000000 0:0x1010' 'tally 0 5 0 180000000,100000000 0:0x1010 0:0x2010' >many.td
tdreport whatif many.td
