# SPDX-License-Identifier: MIT
# A profile's file without -i, a source file to annotate, and words that other tools have.
. "$CASES/profiles.inc"
make_sim >my.td
try() {
    echo "tdreport $*"
    tdreport "$@" 2>&1 | grep -v "^\(source\|coverage\)" | head -4
    echo "exit ${PIPESTATUS[0]}"
}
try my.td
try --json my.td
try functions my.td -n 1
try my.td functions -n 1
try callers my.td branchy
try callers branchy my.td --depth 1
try annotate my.td branchy
try export my.td -f folded
try my.td my.td
try functions my.td other.td
for word in flamegraph record stat top report nothing_like_it; do
    try $word
done
try annotate no.c -i my.td
