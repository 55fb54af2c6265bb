#!/bin/sh
# SPDX-License-Identifier: MIT
# Formats every C file of the project; with --check only says whether one differs.
set -eu
cd "$(dirname "$0")/.."
mode=-i
[ "${1:-}" = --check ] && mode='--dry-run -Werror'
tool=clang-format-14
command -v $tool >/dev/null || tool=clang-format
# shellcheck disable=SC2086
git ls-files -co --exclude-standard '*.c' '*.h' | xargs -r $tool $mode
