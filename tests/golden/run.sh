#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs one golden case in a folder of its own and compares what it says and how it ends.
# usage: run.sh BIN_DIR COMPOSE CASE.sh [--update]
set -u
bin=$(readlink -f "$1") compose=$(readlink -f "$2") case=$(readlink -f "$3") update=${4:-}
stem=${case%.sh}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

export PATH=$bin:$PATH COMPOSE=$compose CASES=${case%/*}
export LC_ALL=C.UTF-8 TERM=dumb XDG_CACHE_HOME=$work/cache HOME=$work
unset COLUMNS NO_COLOR PAGER DEBUGINFOD_URLS LESS
mkdir "$work/dir" && cd "$work/dir" || exit 1
bash "$case" >"$work/stdout" 2>"$work/stderr" </dev/null
code=$?
[ $code = 77 ] && { cat "$work/stderr"; exit 77; }

if [ "$update" = --update ]; then
    [ -f "$stem.stdout.glob" ] || cp "$work/stdout" "$stem.stdout.exact"
    if [ -s "$work/stderr" ]; then cp "$work/stderr" "$stem.stderr"; else rm -f "$stem.stderr"; fi
    if [ $code != 0 ]; then echo $code >"$stem.exit"; else rm -f "$stem.exit"; fi
    exit 0
fi

failed=0
# Line by line, so that a pattern never spans lines.
matches() {
    local expected=$1 got=$2 want line n=0
    exec 3<"$expected" 4<"$got"
    while IFS= read -r want <&3; do
        n=$((n + 1))
        IFS= read -r line <&4 || { echo "line $n is missing: $want"; return 1; }
        # shellcheck disable=SC2053
        [[ $line == $want ]] || { printf 'line %d\n wanted: %s\n    got: %s\n' $n "$want" "$line"; return 1; }
    done
    ! IFS= read -r line <&4 || { echo "more than expected: $line"; return 1; }
}
if [ -f "$stem.stdout.exact" ]; then
    diff -u "$stem.stdout.exact" "$work/stdout" || failed=1
else
    matches "$stem.stdout.glob" "$work/stdout" || failed=1
fi
if [ -f "$stem.stderr" ]; then
    matches "$stem.stderr" "$work/stderr" || failed=1
elif [ -s "$work/stderr" ]; then
    echo "stderr is not empty:"; cat "$work/stderr"; failed=1
fi
want_code=$(cat "$stem.exit" 2>/dev/null || echo 0)
[ "$code" = "$want_code" ] || { echo "exit code $code, wanted $want_code"; failed=1; }
exit $failed
