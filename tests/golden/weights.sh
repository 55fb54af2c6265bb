# SPDX-License-Identifier: MIT
. "$CASES/profiles.inc"
make_sim >sim.td
"$COMPOSE" >clock.td <<'P'
env argv ./app
env source clock
env frequency_hz 1000
counter 0 1000
counter 16 5000000000
counter 17 6000000000
module kernel [kernel]
symbol 0 0x1000 0x100 chase
symbol 0 0x2000 0x100 branchy
symbol 0 0x4000 0x100 branchy_native
thread 200 200 app app
clock 1000
tally 0 0 600 60000000 0:0x1012
tally 0 0 250 25000000 0:0x2010
tally 0 0 100 10000000 0:0x4010
tally 0 0 50 5000000 0:0x9000
P
COLUMNS=80 tdreport -i sim.td --weights clock.td
COLUMNS=80 tdreport functions -i sim.td --weights clock.td --category dram_bound
tdreport --json -i sim.td --weights clock.td | grep -oE '"(source|uncategorized_share|modelled_only_share|disagrees|sampled_time_share|modelled_time_share)": [^,}]*' | sort | uniq -c
tdreport -i clock.td --weights sim.td
echo "exit $?"
tdreport -i sim.td --weights sim.td
echo "exit $?"
