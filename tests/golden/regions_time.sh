# SPDX-License-Identifier: MIT
# Regions of which only the time is known; a profile without any.
. "$CASES/profiles.inc"
make_clock 'region - load' 'region 0 parse' \
    'row 0 0 - 1 1 1 80000000 80000000 80000000 6400000000000000 80000000 0' \
    'row 0 1 - 4 4 4 20000000 4000000 6000000 102000000000000 20000000 0' >profile.td
tdreport regions -w 80
tdreport regions --json | sed -n '/"regions"/,$p'
make_clock >none.td
tdreport regions -i none.td || echo "exit $?"
tdreport functions --region load || echo "exit $?"
tdreport functions --region load -i none.td || echo "exit $?"
