# SPDX-License-Identifier: MIT
# What does not compare is refused in a sentence; what only a part has is compared in the rest.
. "$CASES/profiles.inc"
. "$CASES/diff.inc"
make_sim >sim.td
make_pmu >pmu.td
make_run 1000 500 10 >clock.td
try() {
    COLUMNS=80 tdreport diff "$@"
    echo "exit $?"
}
try sim.td clock.td
try sim.td pmu.td
try sim.td missing.td
try
try sim.td sim.td --unit pounds
try sim.td sim.td --work none
try clock.td clock.td --unit slots
try pmu.td clock.td | sed -n '1,2p;/^note/,$p'
head -c 400 sim.td >cut.td
try sim.td cut.td | tail -1
cp sim.td profile.td.old
cp sim.td profile.td
try | head -1
