# SPDX-License-Identifier: MIT
# Several runs of a side, as files or merged, show the spread: what agrees to 1 % is told apart at 6 %.
. "$CASES/diff.inc"
make_run 1000 500 10 >a1.td
make_run 1010 495 12 >a2.td
make_run 995 505 11 >a3.td
make_run 1060 500 0 >b1.td
make_run 1070 503 0 >b2.td
make_run 1065 496 0 >b3.td
COLUMNS=80 tdreport diff a1.td,a2.td,a3.td b1.td,b2.td,b3.td
COLUMNS=80 tdreport diff a1.td b1.td
# A merge's recordings have to differ, or they are one.
tdreport merge -o a.td a1.td a2.td a3.td
COLUMNS=80 tdreport diff a.td b1.td,b2.td,b3.td --work 2,1 | head -12
