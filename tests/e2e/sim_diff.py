#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`tdreport diff` of modelled runs: what changed is named with its function, line and category, also when the program was
built anew below another path or with lines inserted; gates; recordings of one program."""
import json
import os

import td

if not os.path.exists(os.path.join(td.BUILD, "tdprof-sim-plugin.so")):
    td.skip("the plugin is not built (sanitizers)")
td.need("qemu-x86_64")
td.need("gcc")

# A table of chains: with few buckets they are long, and each step waits for memory.
SOURCE = r"""
#include <stdio.h>
#include <stdlib.h>
struct entry { struct entry *next; unsigned long key, value; };
static unsigned long state = 88172645463325252;
static struct entry **table;
static unsigned long mask;
__attribute__((noinline)) static unsigned long number(void) {
    state ^= state << 13; state ^= state >> 7; state ^= state << 17;
    return state;
}
__attribute__((noinline)) static void build(unsigned long count) {
    for (unsigned long i = 0; i < count; i++) {
        struct entry *entry = malloc(sizeof(*entry));
        entry->key = number() % count;
        entry->value = i;
        struct entry **head = &table[(entry->key * 0x9E3779B97F4A7C15 >> 20) & mask];
        entry->next = *head;
        *head = entry;
    }
}
__attribute__((noinline)) static unsigned long probe(unsigned long count) {
    unsigned long sum = 0;
    for (unsigned long i = 0; i < count; i++) {
        unsigned long key = number() % count;
        struct entry *entry = table[(key * 0x9E3779B97F4A7C15 >> 20) & mask];
        for (; entry; entry = entry->next)
            if (entry->key == key) /* the hot line */
                sum += entry->value;
    }
    return sum;
}
int main(void) {
    unsigned long count = 60000, buckets = 1;
    while (buckets < count / PER_BUCKET) buckets *= 2;
    mask = buckets - 1;
    table = calloc(buckets, sizeof(*table));
    build(count);
    printf("%lu\n", probe(count));
    return 0;
}
"""
LINES_ABOVE = "".join(f"/* {i} */\n" for i in range(20))
# Of memory_bound, at levels 3 and 4.
MEMORY = ("l1_bound", "l2_bound", "l3_bound", "dram_bound", "l1_latency_dependency", "dtlb_load", "mem_latency",
          "mem_bandwidth")


def built(folder, source, per_bucket):
    """The program, in a folder of its own."""
    os.makedirs(td.scratch(folder), exist_ok=True)
    for name in ("join.c", "join"):
        if os.path.exists(td.scratch(f"{folder}/{name}")):
            os.unlink(td.scratch(f"{folder}/{name}"))
    with open(td.scratch(f"{folder}/join.c"), "w", encoding="utf-8") as file:
        file.write(source)
    td.run(["gcc", "-O2", "-g", f"-DPER_BUCKET={per_bucket}", "-o", td.scratch(f"{folder}/join"),
            td.scratch(f"{folder}/join.c")])
    return td.scratch(f"{folder}/join")


def modelled(name, program, *options):
    return td.record([program], *options, out=td.scratch(name), source="sim")


def compare(*words, status=0):
    return json.loads(td.run([td.TDREPORT, "diff", *words, "--json"], status).stdout)


def hot_line(source):
    return next(i for i, line in enumerate(source.split("\n"), 1) if "the hot line" in line)


def row_of(data, table, function, line=None):
    found = [row for row in data[table] if row["function"] == function and line in (None, row["line"])]
    td.check(len(found) == 1, f"{table} {function} {line}: {len(found)} rows")
    return found[0]


def check_faster(data, by, old_line, new_line):
    """What is known of it: fewer steps of chains, so less waiting for memory and fewer mispredicts, in probe's hot
    line; nowhere else as much."""
    verdict = data["verdict"][0]
    td.check(verdict["significant"] and verdict["speed"] > 1.3, verdict)
    td.check(verdict["reasons"] and all(reason["function"] == "probe" for reason in verdict["reasons"]), verdict)
    td.check(any(reason["category"] in MEMORY for reason in verdict["reasons"]),
             verdict)
    td.check(verdict["reasons"][0]["line"] == new_line, verdict["reasons"][0])
    td.check(by in data["lines_by"], data["lines_by"])
    first = data["functions"][0]
    td.check(first["function"] == "probe" and first["status"] == ["both"], first["function"])
    line = row_of(data, "lines", "probe", new_line)
    td.check(line["status"] == ["both"] and [place["line"] for place in line["places"]] == [old_line, new_line],
             f"{line['status']} {line['places']}")
    change = line["categories"]["memory_bound"]["time_ns"]["changes"][0]
    td.check(change["significant"] and change["change"] < 0, change)
    td.check(line["time_ns"]["changes"][0]["change"] < 0.5 * data["total"]["time_ns"]["changes"][0]["change"],
             "the hot line is not most of it")


def rebuilt():
    """The same, whether lines were inserted above, by content where both sources are at hand, else by distance."""
    after = SOURCE.replace("struct entry {", LINES_ABOVE + "struct entry {", 1)
    here, there = hot_line(SOURCE), hot_line(after)
    old = modelled("old.td", built("old", SOURCE, 8))
    check_faster(compare(old, modelled("plain.td", built("plain", SOURCE, 1))), "same", here, here)
    check_faster(compare(old, modelled("new.td", built("new", after, 1))), "content", here, there)
    # In place: the old names are of the copy that tdrec kept, the old source is gone.
    place = modelled("place.td", built("place", SOURCE, 8))
    moved = modelled("moved.td", built("place", after, 1))
    check_faster(compare(place, moved), "distance", here, there)
    os.makedirs(td.scratch("kept"), exist_ok=True)
    with open(td.scratch("kept/join.c"), "w", encoding="utf-8") as file:
        file.write(SOURCE)
    check_faster(compare(place, moved, "--old-source", td.scratch("kept")), "content", here, there)
    # Nothing but lines: nothing changed.
    quiet = compare(old, modelled("quiet.td", built("quiet", after, 8)))
    td.check(not any(row["time_ns"]["changes"][0]["significant"] for row in quiet["functions"] + quiet["lines"]),
             "inserted lines alone change a row")
    line = row_of(quiet, "lines", "probe", there)
    td.check([place["line"] for place in line["places"]] == [here, there], line["places"])


def sampled():
    """By --sim-sample, twice and on both programs; and what no window met, though all of the run had it."""
    program = built("old", SOURCE, 8)
    old = [modelled(f"old{i}.td", program, "--sim-sample") for i in range(2)]
    met = compare(modelled("whole.td", program), old[0])
    unmet = [row for row in met["functions"] + met["lines"] if row["status"] == ["gone"]]
    known = [row for row in unmet if row["time_ns"]["errors"][1] < row["time_ns"]["values"][0]]
    td.check(unmet and not known, f"of {len(unmet)} rows that no window met are known: {known}")
    new = modelled("new.td", built("new", SOURCE, 1), "--sim-sample")
    same = compare(*old)
    td.check(not any(row["time_ns"]["changes"][0]["significant"] for row in same["functions"] + same["lines"]),
             "two recordings of one program differ")
    verdict = compare(old[0], new)["verdict"][0]
    td.check(verdict["significant"] and verdict["reasons"][0]["function"] == "probe", verdict)


def again():
    """Two exact runs of one program, of one with random hashes, and on two cores."""
    program = built("old", SOURCE, 8)
    same = compare(modelled("a.td", program), modelled("b.td", program))
    td.check(all(row["time_ns"]["changes"][0]["change"] == 0 for row in same["functions"]), "exact runs differ")
    perl = ["perl", "-e", "for (1..3000) { $h{$_ x 2} = $_ } $s += $h{$_} for keys %h; print $s"]
    hashed = [td.record(perl, out=td.scratch(f"perl{i}.td"), source="sim") for i in range(2)]
    data = compare(*hashed)
    rows = len(data["functions"])
    alarms = [row["function"] for row in data["functions"] if row["time_ns"]["changes"][0]["significant"]]
    td.check(len(alarms) <= max(1, rows / 100), f"of {rows} rows differ {alarms}")
    other = "skylake" if same["columns"][0]["core"] != "skylake" else "golden-cove"
    cores = compare(td.scratch("a.td"), modelled("c.td", program, "--sim-core", other))
    td.check(cores["columns"][0]["core"] != cores["columns"][1]["core"] and cores["total"]["slots"], cores["columns"])


def gates():
    """Exit 1 only where it is slower beyond its error."""
    old = modelled("old.td", built("old", SOURCE, 1))
    new = modelled("new.td", built("new", SOURCE, 8))
    for words, status in ((["total > +2 %"], 1), (["probe.memory_bound > +5 %"], 1), (["memory_bound > +5 %"], 1),
                          (["total > +2000 %"], 0), (["build > +5 %"], 0), (["total < -2 %"], 0),
                          (["total > +2000 %", "probe > +1 us"], 1), (["nobody > 1 %"], 2), (["total > 1"], 2)):
        options = [option for word in words for option in ("--fail-if", word)]
        for pair, wanted in (((old, new), status), ((old, old), 2 if status == 2 else 0)):
            done = td.run([td.TDREPORT, "diff", *pair, *options], wanted)
            td.check(wanted == 0 or done.stderr.count(b"\n") == 1, done.stderr)
    td.run([td.TDREPORT, "diff", new, old, "--fail-if", "total > +2 %"])


def blocked():
    """A matrix product, blocked: the old function is gone, the new one new, and the reason is where it waited."""
    naive, block = (td.record([td.workload("matmul"), name], "--sim-sample", out=td.scratch(f"{name}.td"), source="sim")
                    for name in ("naive", "blocked"))
    data = compare(naive, block)
    td.check(data["verdict"][0]["significant"] and data["verdict"][0]["speed"] > 1.1, data["verdict"])
    td.check(data["verdict"][0]["reasons"][0]["function"] == "multiply_naive", data["verdict"])
    td.check(row_of(data, "functions", "multiply_naive")["status"] == ["gone"], "multiply_naive is not gone")
    td.check("new" in [row["status"][0] for row in data["functions"][:2]], "multiply_block is not new")


td.cases({"rebuilt": rebuilt, "sampled": sampled, "again": again, "gates": gates, "blocked": blocked})
