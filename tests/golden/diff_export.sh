# SPDX-License-Identifier: MIT
# Two columns for difffolded and flamegraph.pl; OLD, NEW, more and less for speedscope.
. "$CASES/profiles.inc"
. "$CASES/diff.inc"
make_sim >old.td
make_faster golden-cove 1000000000 >new.td
tdreport diff export old.td new.td
tdreport diff export --category dram_bound -f folded -o out.folded old.td new.td && cat out.folded
tdreport diff export --format speedscope old.td new.td
tdreport diff export --format pprof old.td new.td
echo "exit $?"
tdreport diff export old.td new.td old.td
echo "exit $?"
