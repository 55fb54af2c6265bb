# SPDX-License-Identifier: MIT
"""The same program under perf and under tdrec: shares of the top 20 functions. Total variation is half the sum of the
absolute differences; two runs of perf itself are compared as well, which is the noise there is."""
import re

from . import common

BAR = 0.05
TOP = 20
HERTZ = 999


def plain(name):
    """A function's name without parameters, template arguments and the compiler's suffixes."""
    name = name.replace("(anonymous namespace)", "{anonymous}").replace("operator()", "operator{}")
    name = re.sub(r" ?\[clone [^]]*\]", "", name)
    name = re.sub(r"operator(<<|>>|<=>|<=|>=|<|>|->)", lambda m: "operator" + "lgeds"[len(m.group(1)) % 5], name)
    depth, kept = 0, []
    for char in name:
        depth += char == "<"
        if depth == 0:
            kept.append(char)
        depth -= char == ">" and depth > 0
    name = "".join(kept).split("(")[0].strip()
    name = re.sub(r"\.(isra|part|constprop|cold|lto_priv|llvm)(\.\d+)*", "", name)
    name = name.split(" ")[-1] if "operator" not in name else name
    # libc's functions have several names at one address: malloc, __libc_malloc, __GI___libc_malloc.
    return re.sub(r"^(__GI_)?_*(libc_|IO_)?", "", name) or name


def perf_shares(path):
    """By symbol, as perf's own table has them."""
    text = common.run([common.perf(), "report", "-i", path, "--stdio", "--no-children", "--no-inline", "-g", "none",
                       "-s", "sym", "-F", "sample,sym", "-t", "\t"]).out
    counts = {}
    for line in text.split("\n"):
        match = re.match(r"\s*(\d+)\s*\t\s*\[[.kguH]\] (.*?)\s*$", line)
        if match:
            name = plain(match.group(2))
            counts[name] = counts.get(name, 0) + int(match.group(1))
    return share(counts)


def td_shares(path):
    data = common.td_json(path, "functions", "--no-inline", "--percent-limit", "0")
    counts = {}
    for row in data["functions"]:
        name = plain(row["function"])
        counts[name] = counts.get(name, 0) + row["time_share"]
    return share(counts)


def share(counts):
    total = sum(counts.values())
    return {name: count / total for name, count in counts.items()} if total else {}


def is_address(name):
    return re.fullmatch(r"0x[0-9a-f]+|.*\+0x[0-9a-f]+|\[unknown\]|\?\?", name) is not None


def variation(theirs, ours):
    """Over the top of the first; everything else is one row."""
    top = [name for name in sorted(theirs, key=theirs.get, reverse=True) if not is_address(name)][:TOP]
    rest = abs((1 - sum(theirs[n] for n in top)) - (1 - sum(ours.get(n, 0) for n in top)))
    return (sum(abs(theirs[n] - ours.get(n, 0)) for n in top) + rest) / 2


def run(bench):
    common.programs("zstd", "cppcheck", "corpus", "pool")
    quick = bench.quick
    for what, command in (("zstd -19", common.zstd_command(quick)), ("cppcheck", common.cppcheck_command(quick)),
                          ("pool of 8 threads", common.pool_command(quick))):
        hertz = 4000 if quick else HERTZ
        first, second, ours = bench.path("a.data"), bench.path("b.data"), bench.path("a.td")
        common.perf_record(first, hertz, command)
        common.tdrec(ours, hertz, command)
        common.perf_record(second, hertz, command)
        theirs, again, mine = perf_shares(first), perf_shares(second), td_shares(ours)
        both = {n: (theirs.get(n, 0) + again.get(n, 0)) / 2 for n in {*theirs, *again}}
        distance = variation(both, mine)
        bench.add(f"{what}: total variation of the top {TOP} against perf", f"{distance:.4f}",
                  f"{variation(theirs, again):.4f} (perf against perf)", None, f"<= {BAR}", distance <= BAR)
