# SPDX-License-Identifier: MIT
# What a spreadsheet would run is text.
. "$CASES/profiles.inc"
printf 'module anon //anon\nsymbol 2 0x10 0x10 =cmd|x!A1\nsymbol 2 0x20 0x10 @SUM(1,2)\nsymbol 2 0x30 0x10 -[A b]\nthread 7 7 +p =t\ntally 2 0 1 9 2:0x10\ntally 2 0 1 9 2:0x20\ntally 2 0 1 9 2:0x30\n' >more
make_clock "$(cat more)" >profile.td
tdreport export --format csv --process '+p' | cut -d, -f1-8
