# SPDX-License-Identifier: MIT
command -v cc nm >/dev/null || { echo "no compiler to make a program with lines" >&2; exit 77; }
cat >hot.c <<'C'
#include <stdint.h>
static inline uint64_t step(uint64_t x)
{
    return x * 6364136223846793005u + 1; /* evil: [31m */
}

uint64_t work(uint64_t n)
{
    uint64_t x = 1;

    for (uint64_t i = 0; i < n; i++)
        x ^= step(x);
    return x;
}

int main(int argc, char **argv)
{
    (void)argv;
    return (int)work((uint64_t)argc * 10);
}
C
printf '\033' >escape
sed -i "s/evil: /evil: $(cat escape)/" hot.c
cc -O2 -g -fno-inline-functions -o hot hot.c || exit 77
work=0x$(nm hot | awk '$3 == "work" {print $1}')
size=0x$(nm -S hot | awk '$4 == "work" {print $2}')
{
    printf 'env source clock\nmodule file %s/hot\nthread 1 1 hot hot\nclock 1000\n' "$PWD"
    for ((i = 0; i < size; i++)); do
        echo "tally 0 0 1 1000000 0:$((work + i))"
    done
} | "$COMPOSE" >profile.td
tdreport annotate -w 80 work | grep -o ' [0-9]* │.*'
tdreport annotate -w 80 hot.c:4 | grep -o ' [0-9]* │.*'
rm hot.c
tdreport annotate -w 60 step | grep -c "source not shown"
