# SPDX-License-Identifier: MIT
# CPI stacks as SVG: well-formed XML that loads and runs nothing; the same figures as JSON; bars that add up; errors of
# measured slots; names that are markup; what is refused.
. "$CASES/profiles.inc"
make_sim 'env parameter width=6' 'symbol 0 0x3000 0x100 a<b>&"c"::operator<(d)' \
    'tally 0 0 1000000 600000,0,0,600000,0,0,1200000 0:0x3020' >profile.td
make_pmu >pmu.td
check() {
    python3 - "$@" <<'P'
import json
import sys
import xml.etree.ElementTree as tree

SVG = "{http://www.w3.org/2000/svg}"
root = tree.parse(sys.argv[1]).getroot()
stacks = [group for group in root.iter(SVG + "g") if group.get("role") == "group"]
report = json.load(open(sys.argv[2]))
wanted = [report["cpi_stack"], *report["functions"]]
assert len(stacks) == len(wanted), (len(stacks), len(wanted))
for stack, json_stack in zip(stacks, wanted):
    assert int(stack.get("data-slots")) == json_stack["slots"]
    parts = [part for part in stack.iter(SVG + "g") if part.get("role") == "listitem"]
    assert len(parts) == len(json_stack["components"])
    for part, component in zip(parts, json_stack["components"]):
        assert int(part.get("data-slots")) == component["slots"]
        assert abs(float(part.get("data-cpi")) - component["cpi"]) < 1e-12
    assert abs(sum(float(part.get("data-cpi")) for part in parts) - json_stack["cpi"]) < 1e-9
    bars = [rect for rect in stack if rect.tag.endswith("rect")]
    assert abs(sum(float(bar.get("width")) for bar in bars) - 760) < 0.05 * len(bars)
    assert all(bar.find(SVG + "title").text for bar in bars)
text = open(sys.argv[1]).read()
for foreign in ("href", "script", "url(", "@import", "onload"):
    assert foreign not in text, foreign
assert root.get("role") == "img" and root.find(SVG + "title").text and root.find(SVG + "desc").text
height = float(root.get("height"))
assert all(float(t.get("y")) < height for t in root.iter(SVG + "text"))
names = [t.text for t in root.iter(SVG + "text") if t.get("class") == "name"]
print(len(stacks), "stacks, as in JSON:", *names)
print("errors" if "95 %" in text else "exact")
P
}
for profile in profile pmu; do
    for options in '-n 0 --percent-limit 0' '-n 1 --percent-limit 5 --topdown-level 2'; do
        # shellcheck disable=SC2086 # words
        tdreport cpi $profile.td $options --svg $profile.svg
        # shellcheck disable=SC2086 # words
        tdreport cpi $profile.td $options --json >$profile.json
        check $profile.svg $profile.json
    done
done
tdreport cpi profile.td chase --svg - | sed -n 's/.*class="name">\([^<]*\)<.*/\1/p'
for refused in '--svg a --json' '--svg a --methods' '--svg missing/a' '--sgv a'; do
    # shellcheck disable=SC2086 # words
    tdreport cpi profile.td $refused
    echo "exit $?"
done
