# SPDX-License-Identifier: MIT
# Exit 1 only where a change is beyond the limit and beyond its error; 2 with one sentence for a mistake.
. "$CASES/profiles.inc"
. "$CASES/diff.inc"
make_sim >fast.td
make_faster golden-cove 1000000000 >old.td
make_run 1000 500 10 >a.td
make_run 1080 500 10 >b.td
gate() {
    tdreport diff "$@" 2>&1 >/dev/null
    echo "exit $?"
}
gate old.td fast.td --fail-if 'total > +2 %'
gate old.td fast.td --fail-on 'total>2%'
gate old.td fast.td --fail-if 'chase.dram_bound > +5 %' --fail-if 'total > 10 s'
gate old.td fast.td --fail-if 'dram_bound > +1ms' --fail-if 'branchy > 1 us'
gate old.td fast.td --fail-if 'total > +500 %'
gate old.td fast.td --fail-if 'sorted < -50 %'
gate fast.td old.td --fail-if 'total > +2 %'
gate a.td b.td --fail-if 'total > +2 %' # may be chance
gate a.td b.td --fail-if 'alpha > +50 %'
for expression in 'total' 'total > 2' '> 2 %' 'total > much %' 'total = 2 %' 'nobody > 2 %' 'chase.nothing > 2 %' \
    'nobody.l1_bound > 2 %' 'chas > 2 %' 'chase.divider > 2 %' '%' ''; do
    gate old.td fast.td --fail-if "$expression"
done
gate a.td b.td --fail-if 'alpha.l1_bound > 2 %'
# A command that was killed, or ended otherwise, did not do the same work: no limit holds.
make_sim 'env exit exit 0' >good.td
make_sim 'env exit exit 3' >bad.td
make_sim 'env exit signal 6' >killed.td
gate good.td killed.td --fail-if 'total > +2 %'
gate killed.td good.td --fail-if 'total > +2 %'
gate good.td bad.td --fail-if 'total > +2 %'
gate killed.td killed.td --fail-if 'total > +2 %'
gate old.td bad.td --fail-if 'total > +500 %' # how one ended is not known
gate old.td killed.td --fail-if 'total > +500 %'
gate good.td killed.td
tdreport diff good.td killed.td -w 80 | head -4
tdreport diff good.td killed.td --markdown | head -3
tdreport diff good.td killed.td --json | grep -o '"good.td ended.*work"\|"killed.td was.*work"'
# A slip in "total" is not taken for a function.
gate old.td fast.td --fail-if 'totl > 2 %'
gate old.td fast.td --fail-if 'dram_bond > 2 %'
# Of several runs of a side one that was killed is enough.
gate good.td,good.td good.td,killed.td --fail-if 'total > +2 %'
