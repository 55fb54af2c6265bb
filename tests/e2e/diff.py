#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`tdreport diff` of whatever profile there is: with itself nothing changed, and rows add up to the total; of two
recordings on a clock nothing is significant, and a function that does twice the work is found."""
import glob
import json
import os
import shutil

import td

COMPOSE = os.path.join(td.BUILD, "tests/golden/compose_profile")
GOLDEN = os.path.join(td.ROOT, "tests/golden")
DATA = os.path.join(td.ROOT, "tests/data")


def composed():
    """What the golden cases read: a profile for each maker of theirs."""
    if not os.path.exists(COMPOSE):
        td.skip("compose_profile is not built")
    paths = []
    for maker in ("make_clock", "make_sim", "make_pmu", "make_hybrid", "make_passes", "make_faster golden-cove 1000000000",
                  "make_faster gracemont 2000000000", "make_run 1000 500 10", "make_run 900 500 20"):
        paths.append(td.scratch(maker.replace(" ", "_") + ".td"))
        td.run(["bash", "-c", f'. "$0/profiles.inc"; . "$0/diff.inc"; {maker} >"$1"', GOLDEN, paths[-1]],
               env={**os.environ, "COMPOSE": COMPOSE})
    return paths


def stored():
    """Recorded ones: of every version of the format, and by perf."""
    paths = glob.glob(os.path.join(DATA, "profiles/*.td"))
    for packed in glob.glob(os.path.join(DATA, "perfdata/*.zst")) if shutil.which("zstd") else []:
        paths.append(td.scratch(os.path.basename(packed)[:-4]))
        td.run(["zstd", "-dqf", packed, "-o", paths[-1]])
    return paths


def compare(*words, status=0):
    return json.loads(td.run([td.TDREPORT, "diff", *words, "--json"], status).stdout)


def figures(row, unit):
    """Of a row and its categories: (name, figures)."""
    yield "", row[unit]
    for name, units in row["categories"].items():
        yield name, units[unit]


def rows_of(data):
    for table in ("functions", "lines"):
        for row in data[table]:
            yield table, row


def check_sums(name, data):
    """Values and changes of functions, and of lines, add up to the total's, also by category."""
    unit = data["unit"]
    for table in ("functions", "lines"):
        for what, total in figures(data["total"], unit):
            for column in range(len(data["columns"])):
                value = total["values"][column]
                parts = [dict(figures(row, unit)).get(what) for row in data[table]]
                parts = [part for part in parts if part]
                if column > 0:
                    change = sum(part["changes"][column - 1]["change"] for part in parts)
                    off = abs(change - total["changes"][column - 1]["change"])
                    td.check(off <= 1e-6 * max(total["values"][0] or 0, value or 0, 1),
                             f"{name}: {table} {what}: changes add up to {change}, the total's is "
                             f"{total['changes'][column - 1]['change']}")
                if what == "":
                    whole = sum(part["values"][column] for part in parts)
                    td.check(abs(whole - value) <= 1e-6 * max(value, 1), f"{name}: {table}: {whole} of {value}")


def itself():
    """No change at all, and none that is significant; in tables, Markdown and stacks, too."""
    for path in composed() + stored():
        data = compare(path, path)
        unit = data["unit"]
        for table, row in [*rows_of(data), ("total", data["total"])]:
            for what, figure in figures(row, unit):
                change = figure["changes"][0]
                td.check(change["change"] == 0 and not change["significant"] and change["chance"] == 1,
                         f"{path}: {table} {row.get('function')} {what}: {change}")
        check_sums(path, data)
        td.check(not data["verdict"][0]["significant"], f"{path}: {data['verdict']}")
        for words in ([], ["--markdown"], ["--fail-if", "total > 0 %"], ["-n", "0"]):
            td.run([td.TDREPORT, "diff", path, path, *words])
        for line in td.run([td.TDREPORT, "diff", "export", path, path]).stdout.decode().splitlines():
            td.check(line.rsplit(" ", 2)[1] == line.rsplit(" ", 2)[2], f"{path}: {line}")


def sums():
    """Of two, and of three, that compare: rows add up, nobody is in two rows."""
    compared = 0
    paths = composed()
    for old in paths:
        for new in paths:
            done = td.run([td.TDREPORT, "diff", old, new, paths[1] if old == paths[1] else old, "--json"], (0, 2))
            if done.returncode == 2:
                td.check(b"do not compare" in done.stderr and done.stderr.count(b"\n") == 1, done.stderr)
                continue
            data = json.loads(done.stdout)
            check_sums(f"{old} {new}", data)
            places = [(row["function"], row["module"]) for row in data["functions"]]
            td.check(len(set(places)) == len(places), f"{old} {new}: {places}")
            compared += 1
    td.check(compared > len(paths), f"only {compared} pairs compare")


def tested(data):
    """Rows of 0.1 % and more: those that can be called significant."""
    unit = data["unit"]
    total = data["total"][unit]["values"]
    return [row for _, row in rows_of(data)
            if any(value >= 0.001 * all for value, all in zip(row[unit]["values"], total))]


def different(data):
    """Those that are significant. Before which instruction of a small loop the interrupts land is another matter in
    each run, so a line counts when its function differs, too."""
    unit = data["unit"]
    rows = [row for row in tested(data) if row[unit]["changes"][0]["significant"]]
    functions = {(row["function"], row["module"]) for row in rows if row in data["functions"]}
    return [row for row in rows if (row["function"], row["module"]) in functions]


def clock():
    """Four recordings of one program on a clock: of all rows of the six pairs at most one in a hundred differs, or
    those of one recording, which something on the machine may have hurt; and one with twice the rounds is told from
    it."""
    td.need_perf_events()
    command = [td.workload("split"), "0.5"]
    paths = [td.record(command, hertz=2000, out=td.scratch(f"{i}.td")) for i in range(4)]
    rows, alarms = 0, []
    for i in range(4):
        for k in range(i):
            data = compare(paths[k], paths[i])
            rows += len(tested(data))
            alarms += [(k, i, row["function"], row.get("line"), row[data["unit"]]) for row in different(data)]
    print(f"{rows} rows, {alarms}")
    of_one = any(all(run in alarm[:2] for alarm in alarms) for run in range(4))
    td.check(rows > 10 and (of_one or len(alarms) <= rows / 100), f"of {rows} rows differ {alarms}")
    both = compare(",".join(paths[:2]), ",".join(paths[2:]))
    td.check(both["columns"][0]["runs"] == 2 and not both["spread"]["assumed"], both["columns"])
    merged = td.scratch("merged.td")
    td.run([td.TDREPORT, "merge", "-o", merged, *paths[:2]])
    same = compare(merged, ",".join(paths[2:]))
    td.check(same["columns"][0]["runs"] == 2, same["columns"])
    td.check(abs(same["total"]["time_ns"]["values"][0] - both["total"]["time_ns"]["values"][0]) < 1e6, "a merge differs")
    long = [td.record([command[0], "2"], hertz=2000, out=td.scratch(f"long{i}.td")) for i in range(2)]
    data = compare(",".join(paths), ",".join(long))
    td.check(data["verdict"][0]["significant"] and data["verdict"][0]["change"] > 0, data["verdict"])
    td.run([td.TDREPORT, "diff", paths[0], long[0], "--fail-if", "total > +20 %"], 1)


td.cases({"itself": itself, "sums": sums, "clock": clock})
