# SPDX-License-Identifier: MIT
command -v cc >/dev/null || { echo "no compiler to make a program with lines" >&2; exit 77; }
[ "$(uname -m)" = x86_64 ] || { echo "no x86-64 to make a program for" >&2; exit 77; }
cat >hot.s <<'S'
        .globl  _start, work, helper
        .text
        .type   _start, @function
_start: call    work
        mov     $60, %eax
        syscall
        .size   _start, . - _start
        .type   work, @function
work:   mov     $1000, %ecx     # evil: (31m
.Lloop: mov     (%rdi), %rdi
        imul    %rdi, %rax
        call    helper
        dec     %ecx
        jnz     .Lloop
        ret
        .size   work, . - work
        .type   helper, @function
helper: vaddps  0x100(%rip), %ymm1, %ymm2
        ret
        .size   helper, . - helper
S
sed -i "s/evil: (/evil: $(printf '\033')[/" hot.s
cc -g -nostdlib -static -Wl,-Ttext=0x401000,--build-id=none -o hot hot.s 2>/dev/null || exit 77
{
    cat <<P
env source sim
env core golden-cove
env parameter clock_hz=1000000000
module file $PWD/hot
thread 1 1 hot hot
sim light_operations dram_bound core_bound branch_mispredicts
tally 0 0 1000 500,7000,0,0,2000 0:0x1011
tally 0 0 1000 1000,0,1500,0,700 0:0x1014
tally 0 0 1000 500,0,0,0,100 0:0x1018
tally 0 0 1000 500,0,0,0,100 0:0x101d
tally 0 0 1000 500,0,0,300,250 0:0x101f
P
} | "$COMPOSE" >profile.td
tdreport annotate --asm -w 80 work
echo "exit $?"
tdreport annotate --asm -M intel -w 80 work | grep -o 'imul.*'
tdreport annotate --asm -M masm work
tdreport annotate --asm --json work | grep -o '"bytes": "488b3f", "text": "[^"]*"'
# Code that is in no file: addresses only, and why.
{
    printf 'env source clock\nmodule vdso [vdso]\nsymbol 0 0x100 0x100 __vdso_gettime\n'
    printf 'thread 1 1 hot hot\nclock 1000\ntally 0 0 1 1000000 0:0x120\n'
} | "$COMPOSE" >vdso.td
tdreport annotate --asm -i vdso.td -w 80 __vdso_gettime
