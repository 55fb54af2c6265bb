# SPDX-License-Identifier: MIT
. "$CASES/profiles.inc"
make_clock >profile.td
evil=$(printf 'c\033[31m')
for words in "$evil" "functions $evil" "-i $evil" "functions -s $evil" "--time $evil" "export --format $evil" \
    "functions --category $evil" "annotate $evil" "folded --category $evil" "--thread $evil" "--event $evil" "--$evil"; do
    # shellcheck disable=SC2086
    tdreport $words 2>&1 | LC_ALL=C grep -a "$(printf '\033')"
    echo "${PIPESTATUS[0]}"
done
