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
