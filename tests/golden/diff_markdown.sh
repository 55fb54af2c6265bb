# SPDX-License-Identifier: MIT
. "$CASES/profiles.inc"
. "$CASES/diff.inc"
make_sim >old.td
make_faster golden-cove 1000000000 >new.td
tdreport diff old.td new.td --markdown
# Names are text, whatever they hold.
make_clock 'symbol 0 0x7000 0x100 a|b`c<script>' 'tally 0 0 900 900000000 0:0x7001' >a.td
make_clock 'symbol 0 0x7000 0x100 a|b`c<script>' 'tally 0 0 90 90000000 0:0x7001' >b.td
tdreport diff a.td b.td --markdown -n 1 | grep script
