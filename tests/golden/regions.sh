# SPDX-License-Identifier: MIT
# Regions of two threads: sums, deviations, categories, notes, at 80 columns; a name that would steer a terminal.
. "$CASES/profiles.inc"
make_sim 'env parameter width=6' 'thread 100 101 app worker' 'counter 37 2' 'counter 38 1' \
    'region - solve' 'region 0 assemble the whole matrix of a very long name that does not fit in eighty columns' \
    'region - '$'\e''[31mred' 'region - (other regions)' \
    'row 0 0 0 2 2 2 360000000 150000000 210000000 66600000000000000 90000000 90000000 50000000 250000000 12000000 18000000 6000000 24000000 0' \
    'row 0 1 0 10 10 10 60000000 5000000 7000000 364000000000000 9000000 9000000 30000000 0 0 30000000 0 0 0' \
    'row 1 1 0 1 1 1 4000000 4000000 4000000 16000000000000 1000000 500000 4000000 0 0 0 0 0 0' \
    'row 0 2 0 3 2 2 600 200 400 200000 100 100 100 0 0 500 0 0 0' \
    'row 1 3 0 5000 5000 5000 30000 6 6 180000 1000 1000 1000 29000 0 0 0 0 0' >profile.td
tdreport regions -w 80
tdreport regions -w 80 -n 1
# A merge adds them up; the same bytes in any order.
cp profile.td other.td
tdreport merge -o sum.td profile.td other.td >merged.txt
tdreport regions -w 80 -n 2 -i sum.td
tdreport dump -i sum.td | grep -E '  (region|row) '
# Recorded before places were kept by region.
tdreport functions --region solve 2>&1 || echo "exit $?"
tdreport functions --region slove 2>&1 || echo "exit $?"
