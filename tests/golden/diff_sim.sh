# SPDX-License-Identifier: MIT
# Faster: the verdict names what made it so; a function that moved is the same, others are gone and new.
. "$CASES/profiles.inc"
. "$CASES/diff.inc"
make_sim >old.td
make_faster golden-cove 1000000000 >new.td
COLUMNS=80 tdreport diff old.td new.td
echo "exit $?"
COLUMNS=80 tdreport diff new.td old.td --unit slots | head -9
COLUMNS=80 tdreport diff old.td old.td
make_sim 'env argv --big' >big.td
COLUMNS=80 tdreport diff old.td big.td | head -1
