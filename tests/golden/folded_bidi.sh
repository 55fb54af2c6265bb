# SPDX-License-Identifier: MIT
. "$CASES/profiles.inc"
printf "module anon //anon\nsymbol 2 0x10 0x10 a\xe2\x80\xaeb\ntally 0 0 1 1000000 2:0x10\n" >more
make_clock "$(cat more)" >profile.td
tdreport folded --module //anon
