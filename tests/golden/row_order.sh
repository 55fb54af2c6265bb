# SPDX-License-Identifier: MIT
# The same tallies in other orders, as the pieces of equal runs come: no output may differ. Times of a third of a
# nanosecond a cycle round differently wherever they are added up in the order of the file.
rows=(light_operations dram_bound branch_mispredicts)
head_of() {
    printf 'env source sim\nenv core golden-cove\nenv parameter clock_hz=3400000007\nenv parameter width=6\n'
    printf 'module vdso [vdso]\nmodule file /nowhere/lib.so\nmodule file /nowhere/app\n'
    for ((i = 0; i < 12; i++)); do echo "symbol 0 $((i * 256)) 256 function$((i % 9))"; done
    printf 'thread 1 1 app app\nthread 1 2 worker app\nsim %s\n' "${rows[*]}"
}
tallies() {
    local x=7
    for ((i = 0; i < 600; i++)); do
        x=$(((x * 1103515245 + 12345) % 2147483648))
        v=$((x / 65536 % 50 + i % 3))
        echo "tally $((x / 64 % 2)) 0 $v $((v * 2)),$((v % 7)),$((i % 5)),$(((v * 2 + v % 7 + i % 5) / 6 + 1))" \
            "2:$((x / 1024 % 8 * 16)) 1:$((x / 512 % 4 * 32)) 0:$((i * 5))"
    done
}
{ head_of; tallies; } | "$COMPOSE" >1.td
{ head_of; tallies | tac; } | "$COMPOSE" >2.td
{ head_of; tallies | sort -t: -k4; } | "$COMPOSE" >3.td
{ head_of; tallies | sort; } | "$COMPOSE" >4.td
compare() {
    tdreport "$@" -i 1.td >one 2>&1 || cat one
    for other in 2 3 4; do
        tdreport "$@" -i $other.td 2>&1 | sed "s/\b$other\.td/1.td/g" >other
        cmp -s one other || { echo "differs: $* ($other)"; diff one other | cut -c1-200 | head -5; }
    done
    echo "compared: $*"
}
compare --json
compare --json -n 3
for command in functions lines modules threads programs; do
    compare $command
    compare $command --json
    compare $command -s name
done
compare callers function2
compare callees function2 --json
compare folded
compare folded --category time
