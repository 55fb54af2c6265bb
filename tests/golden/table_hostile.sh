# SPDX-License-Identifier: MIT
. "$CASES/profiles.inc"
printf "module anon //anon\nsymbol 2 0x10 0x10 evil\033]0;x\007\xff\xe2\x80\xaename\ntally 0 0 1 1000000 2:0x10\n" >more
make_clock "$(cat more)" >profile.td
tdreport functions --module //anon -w 80
tdreport functions --module //anon --json | sed -n "/\"functions\"/,\$p"
