# SPDX-License-Identifier: MIT
# Loops of a composed profile: two nested whose first rounds ran in a longer block, one of a load and an add, one that is
# entered in two places, one of which no uops are known; a merge adds up, and a function picks its own.
. "$CASES/profiles.inc"
{
    cat <<'P'
env argv ./app
env source sim
env core golden-cove
env parameter clock_hz=1000000000
env parameter width=6
module kernel [kernel]
symbol 0 0x1000 0x100 nested
symbol 0 0x2000 0x100 chase
symbol 0 0x3000 0x100 entered_twice
symbol 0 0x4000 0x100 unknown_code
thread 100 100 app app
sim light_operations dram_bound dependency_chains
tally 0 0 10 10,0,50,10 0:0x1000
tally 0 0 1000 2000,0,16000,3000 0:0x1008
tally 0 0 10 20,0,40,10 0:0x1010
tally 0 0 500 1000,0,14000,2500 0:0x2000
tally 0 0 100 100,600,0,0 0:0x3000
tally 0 0 90 100,500,0,0 0:0x3008
tally 0 0 100 300,300,0,0 0:0x4000
tally 0 0 100 600,0,0,0 0:0x1008 0:0x5000
block 0 0x1000 1 8 10 10 8,4,4 u1,1,3,0,0,0,1,33,0,1,3,0,0,0,0,3,2 u2,8,3,0,0,0,33,0,0,1,1,0,0,0,0,3,0x463
block 0 0x1008 1 0 990 980 4,4 u0,1,3,0,0,0,1,33,0,1,3,0,0,0,0,3,2 u1,8,3,0,0,0,33,0,0,1,1,0,0,0,0,3,0x463
block 0 0x1010 1 -16 10 9 8 u0,8,3,0,0,0,33,0,0,2,1,0,0,0,0,3,0x463
block 0 0x2000 1 0 500 499 4,4 u0,0,0,0,8,0,8,0,1,1,0,5,0,0,0,3,0x80c u1,8,8,0,0,0,33,0,0,1,1,0,0,0,0,3,0x463
block 0 0x3000 1 0x80 100 40 8
block 0 0x3008 5 0 90 90 8 e-8,80 e0x100,10
block 0 0x4000 1 0 100 99 4
P
} | "$COMPOSE" >profile.td
tdreport loops -w 80 --percent-limit 0
tdreport loops -w 80 -n 1 chase
cp profile.td other.td
tdreport merge -o sum.td profile.td other.td >merged.txt
tdreport loops -w 80 -i sum.td -n 1
tdreport dump -i sum.td | grep -A1 -E '  code '
tdreport loops nowhere
