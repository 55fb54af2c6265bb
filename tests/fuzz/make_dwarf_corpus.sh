#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes the seeds of fuzz_dwarf: small programs with debug information of many kinds. Usage: make_dwarf_corpus.sh FOLDER
set -eu
to=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/s.c" <<'END'
static int sink;
static inline __attribute__((always_inline)) int twice(int x) { sink += x; return 2 * x; }
struct pair { int a; long b; };
__attribute__((noinline)) int hot(struct pair *p, int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++) {
        int t = twice(p[i].a) + twice(i);
        if (t > 100) { sum += t; sink++; } else sum -= twice(t);
    }
    return sum;
}
static __attribute__((noinline, cold)) void rare(void) { sink = 0; }
void _start(void)
{
    struct pair p[4] = {{1, 2}, {3, 4}, {5, 6}, {7, 8}};
    if (hot(p, 4) < 0) rare();
    for (;;) sink += hot(p, 3);
}
END
cat >"$work/s.cc" <<'END'
static int sink;
namespace one { namespace { template <class T> struct box { T v; inline __attribute__((always_inline)) T get(T x) { sink += x; return v + x; } }; } 
__attribute__((noinline)) int hot(int x) { auto f = [&](int y) { return box<int>{y}.get(x); }; return f(3) + f(4); } }
extern "C" void _start() { for (;;) sink += one::hot(sink); }
END
cd "$work"
flags="-O2 -g -nostdlib -static -ffreestanding -fno-stack-protector -fno-asynchronous-unwind-tables
    -Wl,--build-id=sha1 -Wl,-z,noseparate-code"
plus="$flags -fno-exceptions -fno-rtti"
# The flags are words.
# shellcheck disable=SC2086
{
    gcc $flags s.c -o gcc5
    gcc $flags -gdwarf-4 s.c -o gcc4
    gcc $flags -gdwarf-2 -gstrict-dwarf s.c -o gcc2
    gcc $flags -Wl,--compress-debug-sections=zstd s.c -o gcczstd
    clang $flags s.c -o clang5
    clang $flags -gdwarf-4 s.c -o clang4
    g++ $plus s.cc -o gxx5
    g++ $plus -gdwarf64 -fdebug-types-section -gz=zlib s.cc -o gxx5z
    clang++ $plus s.cc -o clangxx5
}
cp gcc5 stripped_xz
objcopy --only-keep-debug gcc5 mini
strip --strip-debug mini
xz mini
strip stripped_xz
objcopy --add-section .gnu_debugdata=mini.xz stripped_xz
mkdir -p "$to"
cp gcc5 gcc4 gcc2 gcczstd clang5 clang4 gxx5 gxx5z clangxx5 stripped_xz "$to"
