# SPDX-License-Identifier: MIT
"""Instructions a second on the modelled core, exact and sampled, beside cachegrind with caches and branches, in turn.
By the wall clock, what is written included: what one waits for, with two CPUs to itself (the model has a thread of its own,
cachegrind has not). Sampled against exact: cycles, and the share of each category."""
import os
import re

from . import common

# Rows whose products have few rows in common: joins by index, sorting, hashing, text.
SQL = """create table t(a integer primary key, b text, c int);
with recursive n(i) as (select 1 union all select i + 1 from n where i < {rows})
insert into t select i, hex(i * 7919 % 10007), i * 31 % 977 from n;
create index ti on t(c);
select sum(length(b)), count(distinct c) from t;
select c, count(*) from t group by c order by 2 desc limit 3;
select sum(x.a) from t x join t y on x.c = y.c and y.a < 600;
"""


def head(bench, name, size):
    path = bench.path(name)
    with open(os.path.join(common.BENCH, "corpus.small"), "rb") as source, open(path, "wb") as file:
        file.write(source.read(size))
    return path


def workloads(bench):
    """Each of one thread: with threads for reading and writing zstd takes another number of instructions each run."""
    small = bench.quick
    sql = bench.path("speed.sql")
    with open(sql, "w", encoding="utf-8") as file:
        file.write(SQL.format(rows=10000 if small else 60000))
    return {
        "zstd": ["zstd", "-q", "-3", "--single-thread", "--no-asyncio", "-f", head(bench, "z", 2000000 if small else 20000000), "-o",
                 bench.path("z.zst")],
        "sqlite3": ["sqlite3", ":memory:", "-init", sql, ".quit"],
        "gzip": ["gzip", "-6", "-k", "-f", head(bench, "g", 300000 if small else 4000000)],
    }


def cachegrind(command):
    """Instructions a second, in millions."""
    done = common.run(["valgrind", "--tool=cachegrind", "--cache-sim=yes", "--branch-sim=yes",
                       "--cachegrind-out-file=/dev/null", *command])
    match = re.search(r"I\s+refs:\s*([\d,]+)", done.err)
    return int(match.group(1).replace(",", "")) / done.wall / 1e6


def modelled(bench, command, *options):
    """Instructions a second in millions, and the profile."""
    path = bench.path("speed.td")
    done = common.run([common.TDREC, "--source", "sim", *options, "-o", path, "--", *command])
    profile = common.td_json(path)
    return profile["profile"]["instructions"] / done.wall / 1e6, profile


def worst_share(exact, sampled):
    shares = {node["id"]: node["share"] for node in sampled["tree"]}
    return max((abs(node["share"] - shares.get(node["id"], 0)), node["id"]) for node in exact["tree"])


def run(bench):
    common.need("qemu-x86_64", "valgrind", "zstd", "sqlite3", "gzip")
    common.programs("corpus")
    for name, command in workloads(bench).items():
        rates = {"exact": [], "sampled": [], "rival": []}
        for _ in range(1 if bench.quick else 3):
            rates["rival"].append(cachegrind(command))
            rate, exact = modelled(bench, command)
            rates["exact"].append(rate)
            rate, sampled = modelled(bench, command, "--sim-sample")
            rates["sampled"].append(rate)
        rate = {key: common.median(values) for key, values in rates.items()}
        count = exact["profile"]["instructions"] / 1e6
        bench.add(f"{name} ({count:.0f} M instructions), exact", f"{rate['exact']:.0f} M/s", f"{rate['rival']:.0f} M/s",
                  rate["exact"] / rate["rival"], ">= 60, ratio >= 0.6",
                  rate["exact"] >= 60 and rate["exact"] >= 0.6 * rate["rival"])
        bench.add(f"{name}, sampled", f"{rate['sampled']:.0f} M/s", f"{rate['rival']:.0f} M/s",
                  rate["sampled"] / rate["rival"], ">= 250", rate["sampled"] >= 250)
        error = sampled["profile"]["cycles"] / exact["profile"]["cycles"] - 1
        share, node = worst_share(exact, sampled)
        bench.add(f"{name}, sampled against exact: cycles", f"{100 * error:+.1f} %", None, None, "within 3 %",
                  abs(error) <= 0.03)
        bench.add(f"{name}, sampled against exact: worst share ({node})", f"{share:.3f}", None, None, "<= 0.03",
                  share <= 0.03)
