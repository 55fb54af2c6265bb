# SPDX-License-Identifier: MIT
# Instructions of one function and line under one stack of a thread are one row; another thread's are another.
. "$CASES/profiles.inc"
printf 'module anon //anon\nsymbol 2 0x10 0x10 alone\nthread 7 7 +p one\nthread 7 8 +p two\ntally 2 0 1 9 2:0x10\ntally 2 0 1 5 2:0x14\ntally 3 0 1 4 2:0x18\n' >more
make_clock "$(cat more)" >profile.td
tdreport export --format csv --process '+p' | cut -d, -f1-8,10-13
tdreport export --format ndjson --process '+p' | grep -c alone
