# SPDX-License-Identifier: MIT
# What does not belong together is not merged, and a merge says what it is of.
. "$CASES/profiles.inc"
make_sim >sim.td
make_clock 'env host mars' >mars.td
make_clock 'env host venus' 'env argv --slow' 'counter 17 9104000000' >venus.td
make_pmu >pmu.td
make_hybrid >hybrid.td
for pair in 'sim mars' 'mars sim' 'pmu mars' 'hybrid sim' 'sim pmu'; do
    set -- $pair
    tdreport merge -o out.td "$1.td" "$2.td"
    echo "exit $?"
done
ls out.td 2>&1
tdreport merge -o out.td mars.td venus.td
COLUMNS=100 tdreport -i out.td | head -9
COLUMNS=100 tdreport modules -i sim.td --weights venus.td | head -9
