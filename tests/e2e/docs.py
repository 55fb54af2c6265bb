#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What is written down is true: manual pages name every option and no other, the README's commands work, what is
installed runs."""
import json
import os
import re
import shutil
import subprocess

import td

OPTION = re.compile(r"(?<![\w-])(--[a-z][a-z0-9-]*)")


def commands_of_help(program):
    """The subcommands that the help lists below its heading."""
    text = td.run([program, "--help"]).stdout.decode()
    return re.findall(r"^  ([a-z]+) {2,}", text.partition("Commands\n")[2].partition("\nOptions")[0], re.M)


def options_of_help(program):
    """Of the program and each of its commands. In the help, options stand at the left."""
    found = set()
    for words in ([], *[[command] for command in commands_of_help(program)]):
        text = td.run([program, *words, "--help"]).stdout.decode()
        found |= set(re.findall(r"^ {2}(?:-\w, | {4})(--[a-z][a-z0-9-]*)", text, re.M))
    return found


def manual():
    for program in (td.TDREC, td.TDREPORT):
        name = os.path.basename(program)
        with open(os.path.join(td.ROOT, f"man/{name}.1.scd"), encoding="utf-8") as file:
            page = file.read().replace("\\", "")
        wanted = options_of_help(program)
        td.check(len(wanted) > 10, f"{name} --help shows only {wanted}")
        missing = sorted(option for option in wanted if option not in OPTION.findall(page))
        missing += [command for command in commands_of_help(program) if f"\n*{command}*" not in page]
        td.check(not missing, f"man/{name}.1.scd does not mention {', '.join(missing)}")
        built = os.path.join(td.BUILD, f"man/{name}.1")
        if name == "tdreport" and os.path.exists(built):
            with open(built, encoding="utf-8") as file:
                text = file.read().replace("\\", "").replace("\n", " ")
            said = json.loads(td.run([program, "explain", "--json"]).stdout)["categories"]
            missing = [c["id"] for c in said if c["id"] not in text or c["try"] not in text]
            td.check(len(said) > 20 and not missing, f"CATEGORIES of {name}.1 does not explain {missing}")
        listed = set(re.findall(r"^\*[^\n]*?(--[a-z][a-z0-9-]*)\*", page, re.M))
        stale = sorted(listed - wanted - {"--help", "--version"})
        td.check(not stale, f"man/{name}.1.scd documents what {name} does not know: {', '.join(stale)}")


NO_COUNTERS = (b"needs hardware counters, and there are none", b"this machine has no core PMU")


def readme():
    """Every 'tdrec …' and 'tdreport …' line of the README's sh blocks, in order, in one folder. What counts in hardware may
    be refused where there is none."""
    td.need_perf_events()
    with open(os.path.join(td.ROOT, "README.md"), encoding="utf-8") as file:
        blocks = re.findall(r"^```sh\n(.*?)^```", file.read(), re.M | re.S)
    commands = [line.split("  #")[0].strip() for block in blocks for line in block.split("\n")
                if re.match(r"(tdrec|tdreport) ", line)]
    td.check(commands, "the README shows no tdrec or tdreport command in a ```sh block")
    folder = td.scratch("readme")
    os.makedirs(folder)
    os.symlink(td.workload("shapes"), os.path.join(folder, "app"))
    environment = {**os.environ, "PATH": f"{td.BUILD}:{os.environ['PATH']}"}
    background = subprocess.Popen([td.workload("split"), "300"], stdout=subprocess.DEVNULL)
    try:
        for command in commands:
            done = subprocess.run(["sh", "-c", command.replace("PID", str(background.pid))], cwd=folder,
                                  env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, timeout=120, check=False)
            refused = done.returncode == 125 and any(text in done.stderr for text in NO_COUNTERS)
            td.check(done.returncode == 0 or refused,
                     f"README: '{command}': exit {done.returncode}\n{done.stderr.decode()}")
    finally:
        background.kill()
        background.wait()


def install():
    """cmake --install puts both programs, their pages and completions below a prefix, and they run from there."""
    prefix = td.scratch("prefix")
    td.run(["cmake", "--install", td.BUILD, "--prefix", prefix])
    for name in ("tdrec", "tdreport"):
        td.run([os.path.join(prefix, "bin", name), "--version"])
    found = {os.path.relpath(os.path.join(where, name), prefix)
             for where, _, names in os.walk(prefix) for name in names}
    for name in ("bash-completion/completions/tdrec", "bash-completion/completions/tdreport", "tdprof/region.h",
                 "tdprof/region_marks.h", "tdprof/libtdprof-region.so"):
        td.check(any(path.endswith(name) for path in found), f"{name} is not installed: {sorted(found)}")
    if os.path.isdir(os.path.join(td.BUILD, "man")):
        for name in ("man1/tdrec.1", "man1/tdreport.1", "man3/tdprof_region.3", "man5/tdprofile.5"):
            td.check(any(path.endswith(name) for path in found), f"{name} is not installed: {sorted(found)}")
    td.run(["cmake", f"-DBUILD={td.BUILD}", "-P", os.path.join(td.ROOT, "package/uninstall.cmake")])
    left = [os.path.join(where, name) for where, folders, names in os.walk(prefix)
            for name in names + [folder for folder in folders if folder == "tdprof"]]
    td.check(not left, f"not removed: {left}")


def offered(program, words, previous=""):
    """What bash offers for the last of `words`, the program's name not counted."""
    script = os.path.join(td.ROOT, "completions/tdprof.bash")
    done = td.run(["bash", "-c", 'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
                   '_tdprof "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"; '
                   'printf "%s\\n" "${COMPREPLY[@]}"', script, program, *words])
    return set(done.stdout.decode().split("\n")) - {""}


def completion():
    """The completion offers the commands, and of each its options, and no others; and what an option takes."""
    td.need("bash")
    commands = commands_of_help(td.TDREPORT)
    td.check(len(commands) > 8 and offered(td.TDREPORT, [""]) == set(commands),
             f"commands: {sorted(offered(td.TDREPORT, ['']) ^ set(commands))}")
    for program, words in [(td.TDREC, []), (td.TDREPORT, [])] + [(td.TDREPORT, [c]) for c in commands]:
        text = td.run([program, *words, "--help"]).stdout.decode()
        wanted = set(re.findall(r"^ {2}(?:-\w, | {4})(--[a-z][a-z0-9-]*)", text, re.M))
        found = offered(program, [*words, "--"])
        td.check(wanted and found == wanted, f"{program} {words}: {sorted(found ^ wanted)}")
    td.check("pprof" in offered(td.TDREPORT, ["export", "--format", ""]), "no formats are offered")
    folder = td.scratch("completion")
    os.makedirs(folder)
    with open(os.path.join(folder, "a.td"), "w", encoding="utf-8"):
        pass
    begin = os.path.join(folder, "a")
    for program, words in ((td.TDREPORT, ["-i"]), (td.TDREPORT, ["lines", "--weights"]), (td.TDREC, ["-o"])):
        td.check(offered(program, [*words, begin]) == {begin + ".td"}, f"{words}: no files are offered")
    for program, words in ((td.TDREPORT, ["functions", "-s"]), (td.TDREC, ["--sim-core"])):
        td.check(not offered(program, [*words, ""]), f"{words}: files or commands are offered for a name")


def fish():
    """The completion for fish has the commands and options of the help and no others, and text that cannot end a
    quote."""
    for program in (td.TDREC, td.TDREPORT):
        name, commands = os.path.basename(program), commands_of_help(program)
        made = td.run([os.path.join(td.ROOT, "completions/fish"), program]).stdout.decode()
        lines = [line for line in made.splitlines() if not line.startswith("#")]
        for line in lines:
            td.check(line.startswith(f"complete -c {name} "), line)
            td.check(len(re.findall(r"(?<!\\)'", line)) % 2 == 0, f"an open quote: {line}")
        offered_commands = [match[1] for match in (re.search(r" -a (\w+) ", line) for line in lines) if match]
        td.check(offered_commands == commands, f"{offered_commands}")
        for words in [[], *[[command] for command in commands]]:
            text = td.run([program, *words, "--help"]).stdout.decode()
            wanted = set(re.findall(r"^ {2}(?:-\w, | {4})--([a-z][a-z0-9-]*)", text, re.M))
            seen = f"seen_subcommand_from {words[0]}'" if words else "not __fish" if commands else "complete"
            found = {option for line in lines if seen in line and " -a " not in line
                     for option in re.findall(r" -l ([a-z0-9-]+)", line)}
            td.check(wanted and found == wanted, f"{name} {words}: {sorted(found ^ wanted)}")
    if shutil.which("fish"):
        path = td.scratch("tdreport.fish")
        with open(path, "w", encoding="utf-8") as file:
            file.write(made)
        td.run(["fish", "--no-execute", path])


def version():
    """The libraries that a program says it is built with are those that it is linked with."""
    td.need("readelf")
    for program in (td.TDREC, td.TDREPORT):
        said = td.run([program, "--version"]).stdout.decode().split("\n")[1]
        td.check(said.startswith("with "), said)
        libraries = {word.split("=")[0] for word in said.split()[1:] if word.startswith("lib")}
        linked = set(re.findall(r"\[(lib[^.\]]*)\.so", td.run(["readelf", "-d", program]).stdout.decode()))
        linked = {name for name in linked if name not in ("libc", "libm", "libasan", "libubsan", "libtsan")}
        td.check(libraries and libraries == linked, f"{program}: says {libraries}, is linked with {linked}")


td.cases({"manual": manual, "readme": readme, "install": install, "completion": completion, "fish": fish, "version": version})
