# SPDX-License-Identifier: MIT
# One CPI stack in five ways: sums, differences, a way that counts too much; of a sampled run; what is refused.
. "$CASES/profiles.inc"
# Cycles and overlap; then icache, itlb, branches, dtlb, l2, l3, dram, others of naive, of the right path, POWER5's, interval analysis.
methods() {
    number=39
    for value in "$@"; do
        echo "counter $number $value"
        number=$((number + 1))
    done
}
make_sim 'env parameter width=6' "$(methods 100000000 5000000 \
    3000000 10 8000000 0 2000000 0 150000000 0 \
    2900000 10 8000000 0 1900000 0 140000000 0 \
    300000 0 6000000 20 1000000 0 49000000 9000000 \
    1000000 10 15000000 0 900000 0 50000000 7000000)" >profile.td
export COLUMNS=80
tdreport cpi --methods
echo ----
tdreport cpi --methods --json >ways.json
sed -n '/"methods"/,$p' ways.json
echo ----
# All ways add up to the CPI, to the last digit that counts.
python3 - <<'P'
import json
methods = json.load(open("ways.json"))["methods"]
for way in methods["ways"]:
    total = sum(part["cpi"] for part in way["components"])
    print(way["name"], "adds up" if abs(total - methods["cpi"]) < 1e-12 else f"is {total}")
P
echo ----
make_sim 'env parameter width=6' "$(methods 9800000 0 1 2 3 4 5 6 7 8 1 2 3 4 5 6 7 8 1 2 3 4 5 6 7 8 1 2 3 4 5 6 7 800000)" >sampled.td
tdreport cpi sampled.td --methods | tail -4
make_sim 'env parameter width=6' >none.td
for refused in 'none.td --methods' '--methods chase' '--methods --thread app' '--method'; do
    # shellcheck disable=SC2086 # words
    tdreport cpi $refused
    echo "exit $?"
done
echo ----
# A sum of recordings that were all counted so adds up; one without them would look like a part that was not sampled.
cp profile.td again.td
tdreport merge -o both.td profile.td again.td
tdreport cpi both.td --methods | grep -E 'total|sampled'
tdreport merge -o some.td profile.td none.td
tdreport cpi some.td --methods || echo "exit $?"
tdreport cpi profile.td --methods -n 3 || echo "exit $?"
