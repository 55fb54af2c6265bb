# SPDX-License-Identifier: MIT
. "$CASES/profiles.inc"
make_passes >profile.td
COLUMNS=80 tdreport --topdown-level 2
tdreport --json | grep -oE '"id": "[a-z_]*", "parent": .*"run": 2|"category_runs": \{[^}]*\}'
