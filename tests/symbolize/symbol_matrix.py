#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Builds one small program in every way that debug information comes, and asks for one address.

Usage: symbol_matrix.py TD_SYMBOLS [ROW...]. The address is a nop inside of an inlined function;
its file offset is taken from readelf. Each row must give the exact chain, or the exact reason why
it cannot. Rows whose tools are missing are skipped and named; with none left the exit code is 77.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

C_SOURCE = """\
int sink;
static inline __attribute__((always_inline)) int inl(int x)
{
    __asm__ volatile(".globl td_here\\ntd_here: nop" : "+r"(x));
    return x * 3;
}
__attribute__((noinline)) int hot(int x)
{
    int r = x + 1;
    r += inl(r);
    return r;
}
int main(int argc, char **argv)
{
    (void)argv;
    sink = hot(argc);
    return 0;
}
"""
C_CHAIN = [("inl", 4), ("hot", 10)]

CXX_SOURCE = """\
namespace outer {
namespace {
struct box {
    int v;
    __attribute__((always_inline)) inline int get(int x)
    {
        __asm__ volatile(".globl td_here\\ntd_here: nop" : "+r"(x));
        return x + v;
    }
};
}
template <class T> __attribute__((always_inline)) inline T twice(T x)
{
    box b{x};
    return b.get(x) * 2;
}
__attribute__((noinline)) int hot(int x)
{
    return twice(x + 1);
}
}
int sink;
int main(int argc, char **)
{
    sink = outer::hot(argc);
}
"""
CXX_CHAIN = [(r"outer::.*box::get", 7), (r"int outer::twice<int>|outer::twice<int>", 15),
             ("outer::hot", 19)]

RUST_SOURCE = """\
#![allow(named_asm_labels)]
use std::arch::asm;
#[inline(always)]
fn inl(x: u32) -> u32 {
    unsafe { asm!(".globl td_here", "td_here: nop") };
    x * 3
}
#[inline(never)]
pub fn hot(x: u32) -> u32 {
    inl(x + 1) + 2
}
fn main() {
    println!("{}", hot(std::env::args().count() as u32));
}
"""
RUST_CHAIN = [("a::inl", 5), ("a::hot", 10)]


class Skip(Exception):
    pass


def run(*words, cwd=None):
    if not shutil.which(words[0]):
        raise Skip(f"no {words[0]}")
    try:
        p = subprocess.run(words, cwd=cwd, capture_output=True, text=True, timeout=20)
    except subprocess.TimeoutExpired:
        raise Skip(f"{words[0]} hangs") from None
    if p.returncode != 0:
        raise Skip(f"{words[0]} cannot: {p.stderr.strip().splitlines()[-1:]}")
    return p.stdout


def offset_of(path):
    """File offset of td_here, by readelf."""
    m = re.search(r"\d+: ([0-9a-f]{16}) .* td_here\n", run("readelf", "-sW", path))
    address = int(m.group(1), 16)
    for line in run("readelf", "-lW", path).splitlines():
        f = line.split()
        if f and f[0] == "LOAD":
            offset, vaddr, size = int(f[1], 16), int(f[2], 16), int(f[4], 16)
            if vaddr <= address < vaddr + size:
                return address - vaddr + offset
    raise AssertionError(f"{path}: td_here is in no segment")


class Row:
    """One way to build: a folder of its own, the program `a`, the offset asked for."""

    def __init__(self, folder):
        self.folder = folder
        self.path = os.path.join(folder, "a")
        self.options = []

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w") as f:
            f.write(text)

    def sh(self, *words):
        return run(*words, cwd=self.folder)

    def cc(self, *flags, compiler="gcc"):
        self.write("a.c", C_SOURCE)
        self.sh(compiler, "-O2", *flags, "a.c", "-o", "a", "-Wl,--build-id")
        self.offset = offset_of(self.path)

    def cxx(self, *flags, compiler="g++"):
        self.write("a.cc", CXX_SOURCE)
        self.sh(compiler, "-O2", *flags, "a.cc", "-o", "a", "-Wl,--build-id")
        self.offset = offset_of(self.path)

    def rust(self, *flags):
        self.write("a.rs", RUST_SOURCE)
        self.sh("rustc", "-O", "-g", *flags, "a.rs", "-o", "a", "-Clink-arg=-Wl,--build-id")
        self.offset = offset_of(self.path)

    def ask(self, program):
        p = subprocess.run([program, "--offsets", *self.options, self.path], text=True,
                           capture_output=True, input=f"{self.offset:x}\n")
        lines = p.stdout.strip().split("\n")
        chain = [(lines[i], *lines[i + 1].rsplit(":", 2)[:2]) for i in range(0, len(lines) - 1, 2)]
        note = p.stderr.strip()
        return [c for c in chain if c[0] != "??"], note, p.returncode


ROWS = []


def row(name, chain=None, note=None):
    """chain: names and lines that must come; note: what stderr must match (None: nothing)."""
    def add(build):
        ROWS.append((name, build, chain, note))
        return build
    return add


NAMES = [("hot", 0)]


def simple(name, *flags, compiler="gcc", chain=None):
    row(name, chain or C_CHAIN)(lambda r: r.cc(*flags, compiler=compiler))


for v in "2345":
    simple(f"gcc DWARF {v}", "-g", f"-gdwarf-{v}")
    if v > "2":
        simple(f"clang DWARF {v}", "-g", f"-gdwarf-{v}", compiler="clang")
simple("gcc DWARF 5, 64-bit offsets", "-g", "-gdwarf64")
simple("gcc -g1", "-g1")
simple("clang -g1", "-g1", compiler="clang")
simple("clang -gdwarf-aranges", "-g", "-gdwarf-aranges", compiler="clang")
simple("gcc -flto", "-g", "-flto")
simple("clang -flto", "-g", "-flto", "-fuse-ld=lld", compiler="clang")
simple("gcc -no-pie", "-g", "-no-pie")
simple("gcc -static", "-g", "-static")
simple("gcc -static-pie", "-g", "-static-pie")
simple("gcc -z noseparate-code", "-g", "-Wl,-z,noseparate-code")
simple("gcc, lld", "-g", "-fuse-ld=lld")
simple("clang, lld", "-g", "-fuse-ld=lld", compiler="clang")
simple("clang, lld, no-rosegment", "-g", "-fuse-ld=lld", "-Wl,--no-rosegment", compiler="clang")
simple("gcc, gold", "-g", "-fuse-ld=gold")
simple("gcc -ffunction-sections --gc-sections", "-g", "-ffunction-sections", "-Wl,--gc-sections")
simple("gcc -fdebug-types-section", "-g", "-fdebug-types-section")
simple("zlib", "-g", "-gz=zlib")
simple("zlib-gnu", "-g", "-gz=zlib-gnu")
simple("zstd", "-g", "-Wl,--compress-debug-sections=zstd")
row("g++", CXX_CHAIN)(lambda r: r.cxx("-g"))
row("g++ DWARF 4", CXX_CHAIN)(lambda r: r.cxx("-g", "-gdwarf-4"))
row("g++ -flto", CXX_CHAIN)(lambda r: r.cxx("-g", "-flto"))
row("clang++", CXX_CHAIN)(lambda r: r.cxx("-g", compiler="clang++"))
row("clang++ -fdebug-types-section", CXX_CHAIN)(
    lambda r: r.cxx("-g", "-fdebug-types-section", compiler="clang++"))
row("rustc", RUST_CHAIN)(lambda r: r.rust())
row("rustc -Clto", RUST_CHAIN)(lambda r: r.rust("-Clto"))
row("rustc v0 names", RUST_CHAIN)(lambda r: r.rust("-Csymbol-mangling-version=v0"))
row("rustc -Cdebuginfo=1", RUST_CHAIN)(lambda r: r.rust("-Cdebuginfo=1"))

for v in "45":
    for compiler in ("gcc", "clang"):
        flags = ["-g", f"-gdwarf-{v}", "-gsplit-dwarf"]

        def split(r, flags=flags, compiler=compiler):
            # In two steps: a driver that links at once may delete or rename the .dwo.
            r.write("a.c", C_SOURCE)
            r.sh(compiler, "-O2", *flags, "-c", "a.c", "-o", "a.o")
            r.sh(compiler, "a.o", "-o", "a", "-Wl,--build-id")
            r.offset = offset_of(r.path)

        def split_dwp(r, split=split, v=v):
            split(r)
            r.sh(*(["dwp"] if v == "4" else ["llvm-dwp-14"]), "-e", "a", "-o", "a.dwp")
            os.remove(os.path.join(r.folder, "a.dwo"))

        def split_missing(r, split=split):
            split(r)
            os.remove(os.path.join(r.folder, "a.dwo"))

        def split_other(r, split=split, flags=flags, compiler=compiler):
            split(r)
            r.write("a.c", "int one_more;\n" + C_SOURCE)
            r.sh(compiler, "-O2", *flags, "-c", "a.c", "-o", "b.o")
            os.replace(os.path.join(r.folder, "b.dwo"), os.path.join(r.folder, "a.dwo"))

        label = f"{compiler} split DWARF {v}"
        def split_moved(r, split=split):
            split(r)
            os.mkdir(os.path.join(r.folder, "moved"))
            for name in ("a", "a.dwo"):
                os.rename(os.path.join(r.folder, name), os.path.join(r.folder, "moved", name))
            r.path = os.path.join(r.folder, "moved/a")

        row(f"{label}, .dwo", C_CHAIN)(split)
        row(f"{label}, .dwo moved with the program", C_CHAIN)(split_moved)
        row(f"{label}, .dwp", C_CHAIN)(split_dwp)
        row(f"{label}, .dwo missing", [("hot", 4)],
            r"split debug information is missing for 1 compilation unit: 'a.dwo' is not there")(
                split_missing)
        row(f"{label}, .dwo of another build", [("hot", 4)],
            r"'a.dwo' is of another build")(split_other)


@row("dwz", C_CHAIN)
def dwz(r):
    r.cc("-g")
    r.sh("dwz", "a")


def dwz_multi(r, source=C_SOURCE):
    """Two programs whose common part goes to a third file."""
    big = source + "".join(f"struct common_structure_{i} {{ long member_of_structure_{i}; }} "
                           f"variable_{i};\n" for i in range(60))
    r.write("a.c", big)
    r.write("b.c", big.replace("x * 3", "x * 5"))
    for name in "ab":
        r.sh("gcc", "-O2", "-g", f"{name}.c", "-o", name, "-Wl,--build-id")
    r.offset = offset_of(r.path)
    r.sh("dwz", "-m", os.path.join(r.folder, "common.dwz"), "-M", "common.dwz", "a", "b")


row("dwz -m", C_CHAIN)(dwz_multi)


# The names of this small program are too short to be moved: the chain is whole even so.
@row("dwz -m, file missing", C_CHAIN, r"the supplementary debug file 'common.dwz' is not there")
def dwz_missing(r):
    dwz_multi(r)
    os.remove(os.path.join(r.folder, "common.dwz"))


LONG = ("hot_with_a_name_so_long_that_it_is_worth_sharing_between_files",
        "inl_with_a_name_so_long_that_it_is_worth_sharing_between_files")


def long_names(source):
    return re.sub(r"\binl\b", LONG[1], re.sub(r"\bhot\b", LONG[0], source))


@row("dwz -m, shared names", [(LONG[1], 4), (LONG[0], 10)])
def dwz_shared(r):
    dwz_multi(r, long_names(C_SOURCE))


@row("dwz -m, shared names, file missing", [(r"\[inlined\]", 4), (LONG[0], 10)],
     r"the supplementary debug file 'common.dwz' is not there")
def dwz_shared_missing(r):
    dwz_shared(r)
    os.remove(os.path.join(r.folder, "common.dwz"))


def debuglink(r):
    r.cc("-g")
    r.sh("objcopy", "--only-keep-debug", "a", "a.debug")
    r.sh("objcopy", "--strip-debug", "--add-gnu-debuglink=a.debug", "a")


row("debuglink", C_CHAIN)(debuglink)


@row("debuglink in .debug/", C_CHAIN)
def debuglink_folder(r):
    debuglink(r)
    os.mkdir(os.path.join(r.folder, ".debug"))
    os.rename(os.path.join(r.folder, "a.debug"), os.path.join(r.folder, ".debug/a.debug"))


@row("debuglink, wrong checksum", NAMES, r"'.*/a.debug' is of another build \(its checksum differs\)")
def debuglink_wrong(r):
    debuglink(r)
    with open(os.path.join(r.folder, "a.debug"), "ab") as f:
        f.write(b"more")


@row("debuglink, file missing", NAMES, r"its debug file 'a.debug' is not installed")
def debuglink_missing(r):
    debuglink(r)
    os.remove(os.path.join(r.folder, "a.debug"))


@row("debug file by build-id", C_CHAIN)
def by_build_id(r):
    r.cc("-g")
    hexid = re.search(r"Build ID: ([0-9a-f]+)", r.sh("readelf", "-n", "a")).group(1)
    folder = os.path.join(r.folder, "dbg/.build-id", hexid[:2])
    os.makedirs(folder)
    r.sh("objcopy", "--only-keep-debug", "a", os.path.join(folder, hexid[2:] + ".debug"))
    r.sh("strip", "a")
    r.options = ["--debug-dir", os.path.join(r.folder, "dbg")]


@row("debug file by build-id, of another build", [],
     r"stripped: most names are missing; build it with -g, or install its debug symbols")
def by_build_id_other(r):
    by_build_id(r)
    dbg = os.path.join(r.folder, "dbg/.build-id")
    (folder,) = os.listdir(dbg)
    (name,) = os.listdir(os.path.join(dbg, folder))
    r.write("b.c", "int main(void) { return 3; }\n")
    r.sh("gcc", "-g", "b.c", "-o", os.path.join(dbg, folder, name), "-Wl,--build-id")


@row("no -g", NAMES, r"no debug information: names come from the symbol table; build it with -g")
def no_debug(r):
    r.cc()


@row("stripped", [], r"stripped: most names are missing; build it with -g, or install")
def stripped(r):
    r.cc("-g")
    r.sh("strip", "a")


@row(".gnu_debugdata", NAMES, r"no debug information: names come from the symbol table")
def mini(r):
    r.cc()
    r.sh("objcopy", "--only-keep-debug", "a", "mini")
    r.sh("xz", "mini")
    r.sh("strip", "a")
    r.sh("objcopy", "--add-section", ".gnu_debugdata=mini.xz", "a")


@row("partly without -g", C_CHAIN)
def partly(r):
    r.write("b.c", "int other(void) { return 1; }\n")
    r.sh("gcc", "-O2", "-c", "b.c", "-o", "b.o")
    r.cc("-g", "b.o")


@row("sysroot", C_CHAIN)
def sysroot(r):
    r.cc("-g")
    root = os.path.join(r.folder, "root")
    os.makedirs(root + r.folder)
    shutil.copy(r.path, root + r.path)
    r.options = ["--sysroot", root]


@row("changed since recording", [],
     r"the file changed since recording \(build-id deadbeef recorded, [0-9a-f]{40} found\)")
def changed(r):
    r.cc("-g")
    r.options = ["--build-id", "deadbeef"]


def damage(r, section, edit):
    """Rewrites the bytes of a section."""
    for line in r.sh("readelf", "-SW", "a").splitlines():
        f = line.replace("[", " ").replace("]", " ").split()
        if len(f) > 5 and f[1] == section:
            offset, size = int(f[4], 16), int(f[5], 16)
    with open(r.path, "r+b") as f:
        f.seek(offset)
        data = bytearray(f.read(size))
        edit(data)
        f.seek(offset)
        f.write(data)


@row("damaged abbreviations", NAMES, r"damaged debug information in '.*/a' \(.debug_info\+0x0\)")
def damaged_abbrev(r):
    r.cc("-g")
    damage(r, ".debug_abbrev", lambda d: d.__setitem__(slice(0, len(d)), b"\xff" * len(d)))


@row("damaged zlib section", NAMES, r"section .debug_info: damaged zlib data")
def damaged_zlib(r):
    r.cc("-g", "-gz=zlib")
    damage(r, ".debug_info", lambda d: d.__setitem__(slice(40, 60), b"\xaa" * 20))


def matches(found, wanted):
    return len(found) == len(wanted) and all(
        re.fullmatch(name, f[0]) and (line == 0 or f[2] == str(line))
        and (line == 0 or re.search(r"/a\.(c|cc|rs)$", f[1]))
        for f, (name, line) in zip(found, wanted))


def check(program, name, build, chain, note):
    with tempfile.TemporaryDirectory() as folder:
        r = Row(os.path.realpath(folder))
        try:
            build(r)
        except Skip as e:
            return f"skip ({e})"
        found, said, rc = r.ask(program)
    if rc != 0 or not matches(found, chain):
        return f"FAIL: {found} instead of {chain} {said}"
    if note is None and said or note is not None and not re.search(note, said):
        return f"FAIL: said {said!r} instead of {note!r}"
    return "ok"


def main():
    program, only = os.path.abspath(sys.argv[1]), sys.argv[2:]
    results = []
    for name, build, chain, note in ROWS:
        if only and name not in only:
            continue
        results.append(check(program, name, build, chain, note))
        print(f"{name:45} {results[-1]}", flush=True)
    bad = sum(r.startswith("FAIL") for r in results)
    skipped = sum(r.startswith("skip") for r in results)
    print(f"{len(results)} rows, {bad} failed, {skipped} skipped")
    sys.exit(1 if bad else 77 if skipped == len(results) else 0)


main()
