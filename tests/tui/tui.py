#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tdreport tui on a pseudo-terminal: every key, sizes, terminals, signals, what a large file costs."""
import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e"))
import td  # noqa: E402
from terminal import Terminal  # noqa: E402

COMPOSE = os.path.join(td.BUILD, "tests/golden/compose_profile")
BIG = os.path.join(td.BUILD, "tests/tui/big_profile")
UP, DOWN, RIGHT, LEFT, END, HOME = "\x1bOA", "\x1bOB", "\x1bOC", "\x1bOD", "\x1bOF", "\x1bOH"
PAGE_UP, PAGE_DOWN = "\x1b[5~", "\x1b[6~"

SOURCE = """static int add(int x)
{
    return x + 1;
}

int cold(int n)
{
    int x = n;
    /* nothing to see */
    x = add(x);
    return x;
}

int hot(int n)
{
    int x = n;
    for (int i = 0; i < n; i++) {
        x ^= i * 3; /* Hottest */
        x ^= x >> 3;
    }
    return x;
}

int main(int argc, char **argv)
{
    (void)argv;
    return hot(argc) + cold(argc);
}
"""


def compose(name, text):
    path = td.scratch(name)
    with open(path, "wb") as file:
        done = subprocess.run([COMPOSE], input=text.encode(), stdout=file, check=False)
    td.check(done.returncode == 0, f"compose_profile failed on {name}")
    return path


def program():
    """A program with lines; by function the offsets of its instructions, each with its text."""
    td.need("cc")
    td.need("objdump")
    source, path = td.scratch("shown.c"), td.scratch("shown")
    with open(source, "w", encoding="utf-8") as file:
        file.write(SOURCE)
    td.run(["cc", "-O0", "-g", "-no-pie", "-Wl,-Ttext-segment=0x400000", "-o", path, source])
    code = {}
    listing = td.run(["objdump", "-d", "--no-show-raw-insn", path]).stdout.decode()
    for begin, name, body in re.findall(r"^(\w+) <(\w+)>:\n((?:.+\n)*)", listing, re.M):
        code[name] = [(int(at, 16) - 0x400000, text) for at, text in re.findall(r"^ *(\w+):\t(.*)$", body, re.M)]
        td.check(code[name][0][0] == int(begin, 16) - 0x400000, f"objdump: {body}")
    return path, code


def sim_profile(extra="", file="sim.td", mispredicts=300):
    """hot loses most to L3, cold to mispredicted branches; main calls both."""
    path, code = program()
    lines = ["env source sim", "env core golden-cove", "env parameter clock_hz=1000000000", f"module file {path}",
             "thread 1 1 shown shown", "sim light_operations branch_mispredicts icache_misses l3_bound divider"]
    hottest = next(offset for offset, text in code["hot"] if re.match("xor|eor", text))
    call = next(offset for offset, text in code["main"] if "call" in text or text.startswith("bl"))
    for name, slots in (("hot", "100,0,0,800,100,100"), ("cold", f"100,{mispredicts},50,0,0,{(150 + mispredicts) / 10:.0f}"), ("main", "10,0,0,0,0,1")):
        for offset, _ in code[name]:
            times = 50 if offset == hottest else 1
            values = ",".join(str(int(value) * times) for value in slots.split(","))
            outer = "" if name == "main" else f"0:{call} "
            lines.append(f"tally 0 0 10 {values} {outer}0:{offset}")
    return compose(file, "\n".join(lines) + "\n" + extra)


def clock_profile(functions=60):
    lines = ["env source clock", "env argv ./app", "module kernel [kernel]"]
    lines += [f"symbol 0 {0x1000 * (i + 1)} 256 function_{i:02}" for i in range(functions)]
    lines += ["thread 1 1 app app", "clock 1000"]
    lines += [f"tally 0 0 {100 - i} {(100 - i) * 1000000} 0:{0x1000 * (i + 1) + 4}" for i in range(functions)]
    return compose("clock.td", "\n".join(lines) + "\n")


def start(profile, *words, **more):
    return Terminal([td.TDREPORT, "tui", profile, *words], **more)


def leave(terminal, status=0):
    terminal.press("Q")
    ended = terminal.wait()
    td.check(os.WIFEXITED(ended) and os.WEXITSTATUS(ended) == status, f"wait status {ended}, not exit {status}")
    terminal.given_back("Q")


def selected(terminal, text):
    terminal.until(lambda screen: text in (screen.selected() or ""), f"the selected row to have '{text}'")


def key_enter(t):
    selected(t, "hot")
    t.press("\r")
    t.see("source of hot", "shown.c", "for (int i")
    selected(t, "Hottest")
    t.press("\r")
    t.see("callers and callees of hot", "called by", "main")
    t.press(DOWN + "\r")
    t.see("source of main", "return hot(argc)")
    t.press("qqq")
    t.see("functions by")


def key_leave(t):
    for key in ("\x1b", "q"):
        t.press("\r")
        t.see("source of")
        t.press(key)
        t.see("functions by")
    t.press("\x1b")
    t.see("q leaves")


def key_help(t):
    for key in "?h":
        t.press(key)
        t.see("what it does", "hottest line")
        t.press("q")
        t.see("functions by")


def key_category(t):
    t.press("c" * 2)
    t.see("bad_speculation", "3 functions by bad_speculation")
    selected(t, "cold")
    t.press("C" * 2)
    t.see("3 functions by slots")
    selected(t, "hot")


def key_sort(t):
    seen = set()
    for _ in range(5):
        t.press("s")
        t.until(lambda screen: "sorted by" in screen.lines()[-1], "what it is sorted by")
        seen.add(re.search(r"functions by (\w+)", t.screen.text()).group(1))
        t.press(UP)
        t.until(lambda screen: "sorted by" not in screen.lines()[-1], "the message to go")
    td.check({"name", "module", "slots"} <= seen, f"sorted by {seen} only")
    while "functions by slots" not in t.screen.text():
        t.press("s")
        t.see("sorted by")


def key_asm(t):
    t.press("a")
    t.see("instructions of hot", "address", "xor" if os.uname().machine == "x86_64" else "401")
    t.press("a")
    t.see("source of hot", "Hottest")
    t.press("q")
    t.see("functions by")


def key_hottest(t):
    t.press(DOWN + "H")
    t.see("source of hot")
    selected(t, "Hottest")
    t.press("gH")
    selected(t, "Hottest")
    t.press("q" + UP)
    t.see("functions by")


def key_callers(t):
    for key, heading in (("<", "called by"), (">", "calls")):
        t.press(key)
        t.see("callers and callees of hot", "called by", "calls")
        selected(t, heading)
        t.press("q")
        t.see("functions by")
    t.press(DOWN + DOWN + ">" + DOWN)
    t.see("callers and callees of main")
    selected(t, "hot")
    t.press("qg")
    t.see("functions by")


def key_search(t):
    t.press("/col")
    t.see("/col_")
    t.press("x\x7f\r")
    selected(t, "cold")
    t.press("n")
    t.see("went on at the top")
    selected(t, "cold")
    t.press("/MAIN\r")
    t.see("no row has 'MAIN'")
    t.press("/main\r")
    selected(t, "main")
    t.press("/o\r")
    selected(t, "hot")
    t.press("n")
    selected(t, "cold")
    t.press("N")
    selected(t, "hot")
    t.press("/xyz\x1b")
    t.until(lambda screen: "/xyz" not in screen.text(), "the search to be given up")
    t.press("n")
    t.see("/ begins a search")


def key_diff(t):
    t.press(f"d{td.scratch('no-such.td')}\r")
    t.see("no profile can be read from that file")
    t.press("dx\x1b")
    t.see("functions by slots", "leave")
    t.press(f"d{sim_profile(file='old.td', mispredicts=900)}\r")
    t.see("since old.td", "OLD", "NEW", "total")
    t.press("/cold\r")
    t.see("branch_mispredicts -")
    t.press("\r")
    t.see("source of cold")
    t.press("qq")
    t.see("functions by")


def key_shift(t):
    t.press("\rH")
    t.see("x ^= i * 3")
    t.press(RIGHT * 2)
    t.until(lambda screen: "x ^= i * 3" not in screen.text() and "Hottest" in screen.text(), "the lines to move")
    t.press(LEFT * 3)
    t.see("x ^= i * 3")
    t.press("q")
    t.see("functions by")


def key_redraw(t):
    t.screen.resize(24, 80)
    t.press("\x0c")
    t.see("functions by", "hot", "cold", "main", "leave")


def key_movement(keys):
    """Which row is selected after each."""
    def moves(_):
        t = start(clock_profile(), rows=14)
        t.see("function_00")
        for key, row in keys:
            t.press(key)
            selected(t, f"function_{row:02}")
        leave(t)
    return moves


# By what the help calls the key.
KEYS = {
    "Enter": key_enter, "Esc, q": key_leave, "Q": leave, "?, h": key_help, "c": key_category, "C": key_category,
    "s": key_sort, "a": key_asm, "H": key_hottest, "<": key_callers, ">": key_callers, "/": key_search,
    "d": key_diff, "n": key_search, "N": key_search, "Left": key_shift, "Right": key_shift,
    "Ctrl-L": key_redraw,
    "Up, k": key_movement([(DOWN * 3, 3), (UP, 2), ("k", 1)]),
    "Down, j": key_movement([(DOWN, 1), ("j", 2), ("j" * 20, 22)]),
    "PgUp, b": key_movement([(PAGE_DOWN * 3, 30), (PAGE_UP, 20), ("b", 10), ("bb", 0)]),
    "PgDn, Space": key_movement([(PAGE_DOWN, 10), (" ", 20), (" " * 9, 59)]),
    "Home, g": key_movement([("j", 1), (HOME, 0), ("j", 1), ("g", 0)]),
    "End, G": key_movement([(END, 59), ("g", 0), ("G", 59)]),
}


def keys():
    """Every key that the help names does what it says; the manual names the same keys."""
    text = td.run([td.TDREPORT, "tui", "--help"]).stdout.decode().partition("\nKeys\n")[2]
    named = dict(re.findall(r"^  (\S.*?) {2,}(.*)$", text, re.M))
    td.check(set(named) == set(KEYS), f"keys without a test, or the reverse: {set(named) ^ set(KEYS)}")
    manual = os.path.join(td.BUILD, "man/tdreport.1")  # where scdoc is installed
    if os.path.exists(manual):
        with open(manual, encoding="utf-8") as file:
            page = re.sub(r"\s+", " ", file.read().replace("\\&", "").replace("\\", ""))
        for key, does in named.items():
            td.check(f"fB{key}fR" in page and does in page, f"the manual does not say of {key}: {does}")
    terminal = start(sim_profile(), "--source-dir", td.SCRATCH)
    terminal.see("3 functions by slots", "modelled", "hot", "cold", "mostly")
    for function in dict.fromkeys(KEYS.values()):
        if function is not leave:
            print(f"  {function.__name__}")
            function(terminal)
    leave(terminal)


def sizes():
    """Each size is filled, and no row is wider than the terminal; from 40 x 10 on there are rows to read."""
    terminal = start(sim_profile())
    terminal.see("functions by slots", "hot")
    for columns, rows in ((80, 24), (40, 10), (200, 50), (20, 5), (8, 3), (1, 1), (300, 4), (80, 24)):
        terminal.resize(rows, columns)
        terminal.press("\x0c")
        if columns >= 40 and rows >= 10:
            terminal.see("hot", "cold", "mispredicts 67" if columns > 40 else "%")
            for key, text in (("\r", "source"), ("a", "instru"), ("<", "called by"), ("?", "what it does")):
                terminal.press(key)
                terminal.see(text)
            terminal.press("qqq")
            terminal.see("functions by")
        else:
            time.sleep(0.3)
            terminal.press("\rgG<?qqq")
            terminal.drain(0.3)
    terminal.see("functions by slots", "hot", "cold")
    leave(terminal)


def colour():
    """Colours where there are any and they are wanted; without them all is there too."""
    profile = sim_profile()
    for more, wanted in (({}, True), ({"environment": {"NO_COLOR": "1"}}, False), ({"term": "vt100"}, False),
                         ({"term": "linux"}, True), ({"term": "screen"}, True)):
        terminal = start(profile, **more)
        terminal.see("functions by slots", "hot")
        selected(terminal, "hot")
        td.check(bool(terminal.screen.colours) == wanted, f"{more}: colours {terminal.screen.colours}")
        leave(terminal)
    terminal = start(profile, "--no-color")
    terminal.see("functions by slots", "hot")
    td.check(not terminal.screen.colours, f"--no-color: colours {terminal.screen.colours}")
    leave(terminal)


def refused():
    """What no screen can be shown on is one sentence and exit 2."""
    profile = clock_profile()
    done = td.run([td.TDREPORT, "tui", profile], 2)
    td.check(re.fullmatch(rb"tdreport: tui needs a terminal .*\n", done.stderr) and not done.stdout, f"{done}")
    for term, text in (("dumb", "cannot"), ("no-such-terminal", "does not know"), ("", "does not know")):
        terminal = start(profile, term=term)
        ended = terminal.wait()
        td.check(os.WEXITSTATUS(ended) == 2 and text in terminal.raw.decode(), f"{term}: {ended}, {terminal.raw!r}")
        td.check(len(terminal.raw.splitlines()) == 1 and b"\x1b" not in terminal.raw, f"{term}: {terminal.raw!r}")
    for words, status in ((["no-such.td"], 2), ([os.devnull], 2), ([profile, "other.td"], 2)):
        terminal = Terminal([td.TDREPORT, "tui", *words])
        ended = terminal.wait()
        td.check(os.WEXITSTATUS(ended) == status and b"\x1b" not in terminal.raw, f"{words}: {ended}, {terminal.raw!r}")
    terminal = start(compose("empty.td", "env source clock\nclock 1000\n"))
    ended = terminal.wait()
    td.check(os.WEXITSTATUS(ended) == 4 and b"no samples" in terminal.raw, f"empty: {ended}, {terminal.raw!r}")


def restored():
    """The terminal is as it was, however the program ends."""
    profile = clock_profile()
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGSEGV, signal.SIGABRT):
        terminal = start(profile)
        terminal.see("function_00")
        td.check(terminal.screen.alternate and terminal.modes() != terminal.modes_before, "no screen of its own")
        if number == signal.SIGINT:
            terminal.press("\x03")
        else:
            os.kill(terminal.pid, number)
        ended = terminal.wait()
        td.check(os.WIFSIGNALED(ended) and os.WTERMSIG(ended) == number, f"{number!r}: wait status {ended}")
        terminal.given_back(repr(number))


def suspended():
    """Ctrl-Z gives the terminal back meanwhile; afterwards the screen is there again."""
    script = f"set -m; {td.TDREPORT} tui {clock_profile()}; echo; stty -a | grep -o -- '-*icanon'; fg; echo over"
    terminal = Terminal(["bash", "-c", script])
    terminal.see("function_00")
    terminal.press("\x1a")
    terminal.see("function_00", "leave")
    td.check(b"\nicanon\r" in terminal.raw, f"the modes of the shell are not its own: {terminal.raw[-500:]!r}")
    terminal.press("q")
    terminal.see("over")
    terminal.wait()
    terminal.given_back("Ctrl-Z")


def plain():
    """In the C locale every byte is ASCII; names in other scripts take no more room than they have."""
    text = "env source clock\nmodule kernel [kernel]\nsymbol 0 0x1000 256 größe::名前の長い関数\nthread 1 1 a a\n" \
           "clock 1000\ntally 0 0 10 10000000 0:0x1004\n"
    for locale in ("C", "C.UTF-8"):
        terminal = start(compose("scripts.td", text), environment={"LC_ALL": locale})
        terminal.see("1 function by" if locale == "C" else "größe::名前", "gr")
        td.check(locale != "C" or all(byte < 0x80 for byte in terminal.raw), f"not ASCII: {terminal.raw!r}")
        leave(terminal)


def hostile():
    """A name cannot steer the terminal, on any screen."""
    text = "env source clock\nmodule kernel [kernel]\nsymbol 0 0x1000 256 evil\x1b[31m\x1b]0;owned\a\u202e\x9bname\n" \
           "thread 1 1 a a\nclock 1000\ntally 0 0 10 10000000 0:0x1004\n"
    terminal = start(compose("hostile.td", text), environment={"NO_COLOR": "1"}, columns=120)
    terminal.see("evil\\x1b[31m")
    for key, text in (("\r", "instructions of"), ("<", "called by"), ("?", "what it does")):
        terminal.press(key)
        terminal.see(text)
    terminal.press("qqq")
    terminal.see("function")
    td.check(b"\x1b[31m" not in terminal.raw and b"owned\a" not in terminal.raw, f"{terminal.raw!r}")
    leave(terminal)


def sources():
    """A profile of time alone has no categories, and says so; a cut one ends with exit 3 and the reason."""
    terminal = start(clock_profile())
    terminal.see("function_00", "%")
    td.check("mostly" not in terminal.screen.text(), terminal.screen.text())
    terminal.press("c")
    terminal.see("this profile has no categories")
    terminal.press("\r")
    terminal.see("instructions of function_00")
    leave(terminal)
    terminal = start(sim_profile("cut\n"))
    terminal.see("functions by slots")
    leave(terminal, 3)
    td.check(b"cut off" in terminal.raw, f"{terminal.raw!r}")
    terminal = Terminal([td.TDREPORT, "--tui", "-i", clock_profile()])
    terminal.see("function_00")
    leave(terminal)


def glimpse(terminal, text):
    """As see, of what is shown for a moment only."""
    end = time.monotonic() + 60
    while text not in terminal.screen.text():
        terminal.drain(0.01)
        td.check(time.monotonic() < end, f"'{text}' was not shown within 60 s:\n{terminal.screen.text()}")


def big():
    """Of 100 MB the first functions are there within two seconds of work; the whole follows."""
    path = td.scratch("big.td")
    sanitized = b"address" in td.run([td.TDREPORT, "--version"]).stdout
    with open(path, "wb") as file:
        subprocess.run([BIG, "sim", "20000000" if sanitized else "100000000"], stdout=file, check=True)
    begun, before = time.monotonic(), os.times()
    terminal = start(path)
    while "step_00000" not in terminal.screen.text():
        terminal.drain(0.05)
        td.check(time.monotonic() < begun + 30, f"no function within 30 s:\n{terminal.screen.text()}")
    seconds = time.monotonic() - begun
    cpu = td.cpu_below(os.getpid())
    print(f"first functions after {seconds:.2f} s, {cpu:.2f} s of CPU time ({before.user:.1f} before)")
    td.check(seconds < 2 or cpu < 2, f"the first screen took {seconds:.2f} s, {cpu:.2f} s of CPU time")
    glimpse(terminal, "figures are of its beginning")
    terminal.press(DOWN + DOWN + "\r<")
    glimpse(terminal, "call paths come after that")
    terminal.see("instructions of big::Part2::step_00002")
    terminal.until(lambda screen: "beginning" not in screen.text(), "the whole profile", 150)
    terminal.see("instructions of big::Part2::step_00002")
    terminal.press("q")
    terminal.until(lambda screen: re.search(r"(19|20),\d+ functions by slots", screen.text()), "all functions")
    selected(terminal, "step_00002")
    terminal.press("<")
    glimpse(terminal, "reading call paths")
    terminal.press("q")
    terminal.see("call paths were not read")
    leave(terminal)


if __name__ == "__main__":
    td.cases({"keys": keys, "sizes": sizes, "colour": colour, "refused": refused, "restored": restored,
              "suspended": suspended, "plain": plain, "hostile": hostile, "sources": sources, "big": big})
