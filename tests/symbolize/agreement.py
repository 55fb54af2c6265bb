#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares inline chains, lines and names with llvm-symbolizer at random addresses of programs.

Usage: agreement.py TD_SYMBOLS [-n COUNT] FILE...; FILE may be "rust" or "clang++", which are built
here. Depth, file name and line of every frame must agree everywhere, but for bytes between
functions, where llvm gives a line without a function. Names are compared without parameters; gcc's
functions local to a file and aliases of a library may differ, the share of names that do is bounded.
"""

import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

LLVM = next((n for n in ("llvm-symbolizer-14", "llvm-symbolizer") if shutil.which(n)), None)

RUST = """\
use std::collections::{BTreeMap, HashMap};
fn main() {
    let words: Vec<String> = std::env::args().collect();
    let mut a: HashMap<&str, usize> = HashMap::new();
    let mut b: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (i, w) in words.iter().enumerate() {
        *a.entry(w).or_insert(0) += i;
        b.entry(w.to_uppercase()).or_default().push(i);
    }
    let mut v: Vec<_> = b.into_iter().collect();
    v.sort_by(|x, y| y.1.len().cmp(&x.1.len()).then(x.0.cmp(&y.0)));
    println!("{a:?} {v:?}");
}
"""
CXX = """\
#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <regex>
#include <string>
#include <vector>
int main(int argc, char **argv)
{
    std::vector<std::string> words(argv, argv + argc);
    std::map<std::string, std::shared_ptr<int>> counts;
    for (auto &w : words)
        if (std::regex_search(w, std::regex("[a-z]+")))
            counts[w] = std::make_shared<int>(1);
    std::sort(words.begin(), words.end(), [](auto &a, auto &b) { return a.size() < b.size(); });
    for (auto &[w, n] : counts)
        std::cout << w << *n << std::endl;
}
"""


def text_addresses(path, count):
    out = subprocess.run(["readelf", "-SW", path], capture_output=True, text=True).stdout
    for line in out.splitlines():
        f = line.replace("[", " ").replace("]", " ").split()
        if len(f) > 5 and f[1] == ".text":
            low, size = int(f[3], 16), int(f[5], 16)
    rng = random.Random(1)
    return sorted(rng.sample(range(low, low + size), min(count, size)))


def chains(words, addresses):
    text = "".join(f"0x{a:x}\n" for a in addresses)
    done = subprocess.run(words, input=text, capture_output=True, text=True, errors="replace")
    if done.returncode != 0:
        sys.exit(f"{words} gave {done.returncode}: {done.stderr[-1000:]}")
    out = done.stdout
    result = []
    for block in out.strip("\n").split("\n\n"):
        lines = block.split("\n")
        result.append([(lines[i], *lines[i + 1].rsplit(":", 2)[:2])
                       for i in range(0, len(lines) - 1, 2)])
    if len(result) != len(addresses):
        sys.exit(f"{words} answered {len(result)} of {len(addresses)} addresses")
    return result


def bare(name):
    """The last part of a name, without parameters, template arguments and clones' suffixes."""
    name = re.sub(r" \[clone.*| \(\..*", "", name)
    while (shorter := re.sub(r"<[^<>]*>|\([^()]*\)", "", name)) != name:
        name = shorter
    name = re.sub(r"( const| volatile| ?&+)+$", "", name)
    return re.sub(r"\.(cold|isra|part|constprop|llvm|lto_priv).*$", "",
                  name.split("::")[-1].split(" ")[-1])


def place(frame):
    file, line = frame[1].rsplit("/", 1)[-1], frame[2]
    # Without a line llvm names the file of the symbol table.
    return ("", "0") if line == "0" else (file, line)


def compare(ours, theirs, addresses):
    different, names = [], 0
    for mine, llvm, address in zip(ours, theirs, addresses, strict=True):
        if llvm[0][0] == "??" and mine[0][0] == "??":
            continue
        if [place(f) for f in mine] != [place(f) for f in llvm]:
            different.append((hex(address), mine, llvm))
        elif [bare(f[0]) for f in mine] != [bare(f[0]) for f in llvm]:
            names += 1
    return different, names


def build(kind, folder):
    out = os.path.join(folder, kind)
    source = os.path.join(folder, "a.rs" if kind == "rust" else "a.cc")
    with open(source, "w") as f:
        f.write(RUST if kind == "rust" else CXX)
    words = ["rustc", "-O", "-g"] if kind == "rust" else ["clang++", "-std=c++17", "-O2", "-g"]
    if not shutil.which(words[0]):
        return None
    p = subprocess.run([*words, source, "-o", out], capture_output=True)
    return out if p.returncode == 0 else None


def main():
    program, args, count, bad, done = sys.argv[1], sys.argv[2:], 20000, 0, 0
    if args[:1] == ["-n"]:
        count, args = int(args[1]), args[2:]
    if not LLVM:
        print("no llvm-symbolizer")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        for arg in args:
            path = build(arg, folder) if arg in ("rust", "clang++") else arg
            if not path or not os.path.exists(path):
                print(f"{arg}: skipped")
                continue
            addresses = text_addresses(path, count)
            different, names = compare(chains([program, os.path.realpath(path)], addresses),
                                       chains([LLVM, "--inlining", f"--obj={path}"], addresses),
                                       addresses)
            print(f"{arg}: {len(addresses)} addresses, {len(different)} of other chains or lines, "
                  f"{names} of other names")
            for d in different[:3]:
                print(" ", *d, sep="\n    ")
            done += 1
            bad += len(different) > 0 or names > len(addresses) // 5
    sys.exit(1 if bad else 0 if done else 77)


main()
