# SPDX-License-Identifier: MIT
. "$CASES/profiles.inc"
make_clock "thread 200 200 gzip gzip" "thread 201 201 gzip gzip" "thread 200 200 gzip gzip" "tally 2 0 30 30000000 0:0x1010" "tally 3 0 20 20000000 0:0x1010" "tally 4 0 10 10000000 0:0x3010" >profile.td
tdreport programs -w 80
tdreport threads -w 80
tdreport programs --json | grep program
tdreport -w 80 | grep -A4 ^Programs
