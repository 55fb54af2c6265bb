# SPDX-License-Identifier: MIT
"""Names are of the code that ran, or absent: files with and without build-ids, generated code."""
import glob
import json
import os
import shutil
import subprocess

import td

SOURCE = """
volatile unsigned long sum;
__attribute__((noinline)) void NAME(void) { for (long i = 0; i < COUNT; i++) sum += i; }
int main(void) { NAME(); return 0; }
"""
# Each leaves nothing that tells the two programs apart but what is in them.
KINDS = {"no build-id": ["-Wl,--build-id=none"], "build-id": ["-Wl,--build-id"]}


def compile_pair(folder, *options, count=150000000):
    """`good` and `evil` below the folder: the same instructions under another name."""
    td.need("cc")
    os.makedirs(folder, exist_ok=True)
    paths = []
    for name in ("good", "evil"):
        source = os.path.join(folder, f"{name}.c")
        with open(source, "w", encoding="ascii") as file:
            file.write(SOURCE)
        paths.append(os.path.join(folder, name))
        td.run(["cc", "-O1", "-g", f"-DNAME={name}", f"-DCOUNT={count}L", *options, source, "-o", paths[-1]])
    return paths


def look(profile, module):
    """The functions named in the module, and the module's note."""
    data = td.report_json(profile, "functions", "--no-cache")
    names = {row["function"] for row in data["functions"] if os.path.basename(row["module"]) == module}
    return names, td.report(profile, "functions", "--no-cache").replace("\n      ", " ")


def need_model():
    if not os.path.exists(os.path.join(os.path.dirname(td.TDREC), "tdprof-sim-plugin.so")):
        td.skip("the plugin is not built (sanitizers)")
    td.need("qemu-x86_64")


def check_replaced(source, count):
    for kind, options in KINDS.items():
        folder = td.scratch(f"replaced-{source}-{len(options[0])}")
        good, evil = compile_pair(folder, *options, count=count)
        app, kept = os.path.join(folder, "app"), os.path.join(folder, "kept")
        shutil.copy(good, app)
        profile = td.record([app], out=os.path.join(folder, "p.td"), source=source)
        td.check("good" in look(profile, "app")[0], f"{source}, {kind}: the file itself gives no names")
        os.rename(app, kept)
        shutil.copy(evil, app)
        names, text = look(profile, "app")
        td.check("evil" not in names and "good" not in names, f"{source}, {kind}: names of a replaced file: {names}")
        td.check("the file changed since recording" in text, f"{source}, {kind}: no reason is told:\n{text}")
        shutil.copy(kept, app)
        td.check("good" in look(profile, "app")[0], f"{source}, {kind}: a copy of the file gives no names")


def replaced():
    td.need_perf_events()
    check_replaced("clock", 150000000)


def replaced_sim():
    need_model()
    check_replaced("sim", 2000000)


def in_namespace(words):
    """The command in a mount namespace of its own, as root of a user namespace where we are not root."""
    command = ["unshare", "-m" if os.geteuid() == 0 else "-Urm", *words]
    td.need("unshare")
    if subprocess.run(["unshare", *command[1:2], "true"], check=False, stderr=subprocess.DEVNULL).returncode != 0:
        td.skip("no namespaces can be made here")
    return command


def elsewhere():
    """Another file stands at the path for who reports: chroot, a bind mount, both gone afterwards."""
    td.need_perf_events()
    for kind, options in KINDS.items():
        folder = td.scratch(f"elsewhere-{len(options[0])}")
        good, evil = compile_pair(folder, "-static", *options, count=400000000)
        app, root = os.path.join(folder, "app"), os.path.join(folder, "root")
        os.makedirs(root + folder)
        shutil.copy(good, root + app)
        shutil.copy(evil, app)
        ways = {"chroot": f"exec chroot {root} {app}", "mount": f"mount --bind {good} {app} && exec {app}"}
        for way, script in ways.items():
            profile = td.record(in_namespace(["sh", "-c", script]), out=os.path.join(folder, f"{way}.td"))
            names, text = look(profile, "app")
            td.check(names, f"{way}, {kind}: the program is not in the profile:\n{text}")
            td.check(not names & {"evil", "good"}, f"{way}, {kind}: names of the file of the report's side: {names}")
            td.check("the file changed since recording" in text or "another file stands here" in text,
                     f"{way}, {kind}: no reason is told:\n{text}")


def generated_share(profile, words):
    """The share of modelled time in functions whose names hold one of the words."""
    found = td.shares(td.report_json(profile, "functions", "--no-cache"))
    return sum(share for name, share in found.items() if any(word in name for word in words))


def modelled_jit():
    """Code made at run time has its names under the model, too: by a perf map and by a jitdump."""
    need_model()
    folder = td.scratch("dumps")
    os.makedirs(folder)
    runs = {"perf map": ([td.workload("jit"), "0.1"], ["jit_loop"]),
            "jitdump": ([td.workload("jitdump"), "0.1", folder], ["early", "late"])}
    for what, (command, words) in runs.items():
        for options in ([], ["--sim-sample"]):
            profile = td.record(command, *options, source="sim")
            share = generated_share(profile, words)
            td.check(share > 0.8, f"{what}, sim {options}: {share:.3f} in named generated code, expected nearly all")


def foreign():
    """perf.data of other machines: nothing here has their build-ids, so that nothing gives their code a name, also
    not that of callers; and no caller is on the stack or the heap."""
    td.need("zstd")
    for packed in sorted(glob.glob(os.path.join(td.ROOT, "tests/data/perfdata/*.zst"))):
        what, path = os.path.basename(packed), td.scratch("foreign")
        td.run(["zstd", "-dqf", packed, "-o", path])
        words = ["functions", "--children", "--percent-limit", "0", "--no-cache", "--json"]
        done = td.run([td.TDREPORT, *words, "-i", path], (0, 3, 4))
        if done.returncode == 4:
            continue
        rows = json.loads(done.stdout)["functions"]
        named = [row for row in rows if row["function"] and not row["function"].startswith("bpf_")]
        td.check(not named, f"{what}: names for another machine's code: {named[:3]}")
        for row in rows:
            name = row["module"] or ""
            td.check(not name.startswith(("[stack", "[heap")), f"{what}: a caller that is no code: {row}")


def split_debug():
    """Inlined functions whose .dwo is missing are not lost silently."""
    td.need_perf_events()
    td.need("cc")
    folder = td.scratch("split")
    os.makedirs(folder)
    with open(os.path.join(folder, "app.c"), "w", encoding="ascii") as file:
        file.write("volatile long s; static inline __attribute__((always_inline)) void inlined(long i) { s += i; }\n"
                   "int main(void) { for (long i = 0; i < 100000000; i++) inlined(i); return 0; }\n")
    td.run(["cc", "-O1", "-g", "-gsplit-dwarf", "app.c", "-o", "app"], cwd=folder)
    profile = td.record([os.path.join(folder, "app")])
    td.check("inlined" in look(profile, "app")[0], "the inlined function is not found")
    for name in os.listdir(folder):
        if name.endswith(".dwo"):
            os.unlink(os.path.join(folder, name))
    names, text = look(profile, "app")
    td.check("main" in names and "split debug information is missing" in text, f"nothing says what is missing:\n{text}")


PLT = """
extern void _ZdlPvm(void *, unsigned long);
int main(void) { for (long i = 0; i < 200000; i++) _ZdlPvm(0, i); return 0; }
"""


def plt():
    """Stubs have the names of what they call, as people write them."""
    td.need("cc")
    need_model()
    folder = td.scratch("plt")
    os.makedirs(folder)
    for name, text in (("lib.c", "void _ZdlPvm(void *p, unsigned long n) { (void)p; (void)n; }\n"), ("app.c", PLT)):
        with open(os.path.join(folder, name), "w", encoding="ascii") as file:
            file.write(text)
    td.run(["cc", "-O1", "-fPIC", "-shared", "lib.c", "-o", "liblib.so"], cwd=folder)
    td.run(["cc", "-O1", "app.c", "-L.", "-llib", f"-Wl,-rpath,{folder}", "-o", "app"], cwd=folder)
    names, text = look(td.record([os.path.join(folder, "app")], source="sim"), "app")
    td.check("operator delete@plt" in names,
             f"no stub is named: {names}\n{text}")
    td.check(not any("_ZdlPvm" in name for name in names if name), f"a stub's name is mangled: {names}")


def unnamed():
    """Code without names is not shown as a function, and what tables print for it can be asked for; where there are
    no lines, that is said, and what shows more."""
    td.need_perf_events()
    td.need("strip")
    app, _ = compile_pair(td.scratch("unnamed"))
    td.run(["objcopy", "--strip-debug", app])
    profile = td.record([app], "-g")
    text = td.report(profile, "annotate", "good", "--no-cache")
    td.check("these are its instructions" in text and "offset" in text or "address" in text,
             f"no instructions without lines:\n{text}")
    td.run(["strip", app])
    profile = td.record([app], "-g")
    text = td.report(profile, "functions", "--children", "--no-cache")
    td.check("[unknown] of good" in text, f"code without names is not called so:\n{text}")
    for name in ("good", "[unknown] of good"):
        text = td.report(profile, "callers", name, "--no-cache")
        td.check("[unknown] of good" in text, f"callers '{name}':\n{text}")
    text = td.report(profile, "annotate", "good", "--no-cache")
    td.check("no names or lines: these are its instructions" in text and "address" in text,
             f"annotate of a module:\n{text}")


def no_descriptors():
    """Where no file can be read, the reason is told for each module."""
    td.need_perf_events()
    profile = td.record([td.workload("split"), "0.2"])
    words = " ".join([td.TDREPORT, "functions", "--no-cache", "-i", profile])
    text = td.run(["sh", "-c", f"ulimit -n 5; exec {words}"]).stdout.decode()
    td.check("Too many open files" in text, f"the note does not give the reason:\n{text}")


def cache():
    """Names are kept only where no one else can put files."""
    td.need_perf_events()
    profile = td.record([td.workload("split"), "0.2"])
    base, target = td.scratch("shared"), td.scratch("target")
    os.mkdir(base)
    os.chmod(base, 0o777)
    os.mkdir(target)
    environment = dict(os.environ, XDG_CACHE_HOME=base)

    def report():
        return td.run([td.TDREPORT, "functions", "-i", profile], env=environment).stderr.decode()

    os.symlink(target, os.path.join(base, "tdprof"))
    td.check("names are not kept" in report() and not os.listdir(target), "a planted link is followed")
    os.unlink(os.path.join(base, "tdprof"))
    os.mkdir(os.path.join(base, "tdprof"))
    os.chmod(os.path.join(base, "tdprof"), 0o777)
    td.check("names are not kept" in report() and not os.listdir(os.path.join(base, "tdprof")),
             "a folder that others may write into is used")
    os.chmod(os.path.join(base, "tdprof"), 0o700)
    td.check(report() == "" and os.listdir(os.path.join(base, "tdprof")), "a folder of one's own is not used")


def kept():
    """A program that is recorded and then built anew in its place has the names it had, from the copy that tdrec kept;
    only the newest programs are kept, and none through a link, or of another build."""
    td.need_perf_events()
    folder = td.scratch("built-anew")
    good, evil = compile_pair(folder, "-Wl,--build-id", count=100000000)
    cache = os.path.join(os.environ["XDG_CACHE_HOME"], "tdprof")
    app = os.path.join(folder, "app")
    shutil.copy(good, app)
    profile = td.record([app], out=os.path.join(folder, "p.td"))
    copies = [name for name in os.listdir(cache) if name.endswith(".program")]
    td.check(len(copies) == 1 and os.stat(os.path.join(cache, copies[0])).st_mode & 0o077 == 0, f"kept: {copies}")
    shutil.copy(evil, app)  # into the same file
    names = td.shares(td.report_json(profile, "functions"))
    td.check("good" in names and "evil" not in names, f"names of a program that was built anew: {names}")
    for name in os.listdir(cache):
        if name.endswith(".symbols"):
            os.unlink(os.path.join(cache, name))
    shutil.copy(evil, os.path.join(cache, copies[0]))
    names = td.shares(td.report_json(profile, "functions"))
    td.check("good" not in names and "evil" not in names, f"names of another build: {names}")
    os.unlink(os.path.join(cache, copies[0]))
    os.symlink(good, os.path.join(cache, copies[0]))
    names = td.shares(td.report_json(profile, "functions"))
    td.check("good" not in names, f"a planted link is followed: {names}")
    for i in range(20):
        with open(os.path.join(cache, f"{i:040x}.program"), "wb"):
            pass
    shutil.copy(good, app)
    td.record([app], out=os.path.join(folder, "again.td"))
    copies = [name for name in os.listdir(cache) if name.endswith(".program")]
    td.check(len(copies) == 16, f"{len(copies)} programs are kept")
    td.record(["/bin/true"], out=os.path.join(folder, "true.td"))
    td.check(sorted(copies) == sorted(name for name in os.listdir(cache) if name.endswith(".program")),
             "an installed program is kept")


INTRINSICS = """
#include <emmintrin.h>
static __m128i words[1000];
__attribute__((noinline)) static __m128i add(void)
{
    __m128i sum = _mm_setzero_si128();
    for (int i = 0; i < 1000; i++)
        sum = _mm_add_epi64(sum, words[i]); /* HERE */
    return sum;
}
int main(void)
{
    volatile int out = 0;
    for (int i = 0; i < 3000; i++) {
        words[i % 1000] = _mm_set1_epi32(i);
        out += _mm_cvtsi128_si32(add());
    }
    return 0;
}
"""


def intrinsics():
    """What stands for an instruction is no function of its own: the line is the caller's, not the header's."""
    need_model()
    td.need("cc")
    if os.uname().machine != "x86_64":
        td.skip("its header is x86's")
    folder = td.scratch("intrinsics")
    os.makedirs(folder, exist_ok=True)
    source, app = os.path.join(folder, "sums.c"), os.path.join(folder, "sums")
    with open(source, "w", encoding="ascii") as file:
        file.write(INTRINSICS)
    td.run(["cc", "-O2", "-g", source, "-o", app])
    profile = td.record([app], out=os.path.join(folder, "p.td"), source="sim")
    lines = td.report_json(profile, "lines", "--no-cache")["lines"]
    here = next(n for n, text in enumerate(INTRINSICS.split("\n"), 1) if "HERE" in text)
    td.check(any(row["line"] == here and row["time_share"] > 0.2 for row in lines), f"line {here} is not among {lines[:3]}")
    td.check(not any("mmintrin.h" in (row["file"] or "") for row in lines), "a header's line is told")


td.cases({"intrinsics": intrinsics, "replaced": replaced, "kept": kept, "replaced_sim": replaced_sim, "elsewhere": elsewhere,
          "modelled_jit": modelled_jit, "foreign": foreign, "split_debug": split_debug,
          "plt": plt, "unnamed": unnamed, "no_descriptors": no_descriptors,
          "cache": cache})
