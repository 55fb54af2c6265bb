# SPDX-License-Identifier: MIT
"""A program on a pseudo-terminal, and the screen that a terminal of the kind xterm or vt100 would show."""
import codecs
import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time
import unicodedata

import td

# OSC 104 sets the colours back to the terminal's own.
SEQUENCE = re.compile("\x1b(?:\\]104\x07|\\[([?>]?)([0-9;]*)([@A-Za-z`])|([()])([0AB])|([78=>McDEH]))")
LINE_ART = dict(zip("jklmnqtuvwx", "┘┐┌└┼─├┤┴┬│"))


class Screen:
    """What the bytes of a program draw. A sequence that these terminals do not know is an error: it came from a name."""

    def __init__(self, rows, columns):
        self.alternate = False
        self.colours = set()
        self.left = ""  # a sequence that is not whole yet
        self.unknown = []
        self.decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self.resize(rows, columns)

    def resize(self, rows, columns):
        self.rows, self.columns = rows, columns
        self.cells = [[" "] * columns for _ in range(rows)]
        self.reverse = [[False] * columns for _ in range(rows)]
        self.y = self.x = 0
        self.top, self.bottom = 0, rows - 1
        self.is_reverse = self.line_art = False
        self.wraps = False  # a character stands in the last column: the next one begins a row

    def lines(self):
        return ["".join(row).rstrip() for row in self.cells]

    def text(self):
        return "\n".join(self.lines())

    def selected(self):
        """The text of the row that is shown in reverse from end to end; None: there is none."""
        for row, marks in zip(self.cells, self.reverse):
            if all(marks):
                return "".join(row).rstrip()
        return None

    def feed(self, data):
        text = self.left + self.decode(data)
        at = 0
        self.left = ""
        while at < len(text):
            if text[at] != "\x1b":
                self.character(text[at])
                at += 1
                continue
            found = SEQUENCE.match(text, at)
            if found:
                self.sequence(found)
                at = found.end()
            elif len(text) - at < 16:
                self.left = text[at:]
                return
            else:
                self.unknown.append(text[at:at + 16])
                at += 1

    def line_feed(self):
        if self.y == self.bottom:
            self.scroll(1)
        else:
            self.y = min(self.y + 1, self.rows - 1)

    def scroll(self, count, top=None):
        top = self.top if top is None else top
        for table, blank in ((self.cells, " "), (self.reverse, False)):
            for _ in range(abs(count)):
                table.pop(top if count > 0 else self.bottom)
                table.insert(self.bottom if count > 0 else top, [blank] * self.columns)

    def character(self, c):
        if c == "\r":
            self.x, self.wraps = 0, False
        elif c == "\n":
            self.line_feed()
        elif c == "\b":
            self.x, self.wraps = max(self.x - 1, 0), False
        elif c == "\t":
            self.x = min(self.x // 8 * 8 + 8, self.columns - 1)
        elif c in "\x0e\x0f":
            self.line_art = c == "\x0e"
        elif c not in "\x00\x07":
            if ord(c) < 32 or 0x7f <= ord(c) < 0xa0:
                self.unknown.append(repr(c))
            self.put(LINE_ART.get(c, c) if self.line_art else c)

    def put(self, c):
        width = 0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        if width == 0:
            return
        if self.wraps:
            self.x, self.wraps = 0, False
            self.line_feed()
        self.cells[self.y][self.x] = self.last = c
        self.reverse[self.y][self.x] = self.is_reverse
        if width == 2 and self.x + 1 < self.columns:
            self.cells[self.y][self.x + 1] = ""
            self.reverse[self.y][self.x + 1] = self.is_reverse
        self.x += width
        if self.x >= self.columns:
            self.x, self.wraps = self.columns - 1, True

    def erase(self, y, begin, end):
        for x in range(begin, min(end, self.columns)):
            self.cells[y][x], self.reverse[y][x] = " ", self.is_reverse

    def sequence(self, found):
        private, numbers, final, charset, which, single = found.groups()
        if not (final or charset or single):
            return
        n = [int(number) if number else 0 for number in (numbers or "").split(";")]
        if charset:
            self.line_art = which == "0"
        elif single == "M":
            if self.y == self.top:
                self.scroll(-1)
            else:
                self.y -= 1
        elif single:
            self.x, self.y = (0, self.y + 1) if single == "E" else (self.x, self.y)
        elif private:
            if final in "hl" and n[0] in (47, 1047, 1049):
                self.alternate = final == "h"
        else:
            self.control(final, n, max(n[0], 1))

    def control(self, final, n, count):
        self.wraps = self.wraps and final in "mhl"
        if final in "Hf":
            self.y, self.x = min(count, self.rows) - 1, min(max(n[1] if len(n) > 1 else 1, 1), self.columns) - 1
        elif final in "ABCD":
            self.y = max(0, min(self.rows - 1, self.y + {"A": -count, "B": count}.get(final, 0)))
            self.x = max(0, min(self.columns - 1, self.x + {"C": count, "D": -count}.get(final, 0)))
        elif final in "G`":
            self.x = min(count, self.columns) - 1
        elif final == "d":
            self.y = min(count, self.rows) - 1
        elif final == "J":
            for y in range(self.rows):
                if n[0] == 2 or (n[0] == 0 and y > self.y) or (n[0] == 1 and y < self.y):
                    self.erase(y, 0, self.columns)
            if n[0] < 2:
                self.control("K", n, count)
        elif final == "K":
            begin, end = ((self.x, self.columns), (0, self.x + 1), (0, self.columns))[n[0]]
            self.erase(self.y, begin, end)
        elif final == "X":
            self.erase(self.y, self.x, self.x + count)
        elif final in "P@":
            for table, blank in ((self.cells, " "), (self.reverse, False)):
                row = table[self.y]
                for _ in range(count):
                    row.insert(self.columns if final == "P" else self.x, blank)
                    row.pop(self.x if final == "P" else -1)
        elif final in "LM":
            self.scroll(count if final == "M" else -count, self.y)
        elif final in "ST":
            self.scroll(count if final == "S" else -count)
        elif final == "b":
            for _ in range(count):
                self.put(self.last)
        elif final == "r":
            self.top, self.bottom = count - 1, (n[1] if len(n) > 1 and n[1] else self.rows) - 1
            self.x = self.y = 0
        elif final == "m":
            for number in n:
                self.is_reverse = number == 7 or (self.is_reverse and number not in (0, 27))
                if 30 <= number <= 48 or 90 <= number <= 107:
                    self.colours.add(number)
        elif final not in "hltg":
            self.unknown.append(f"CSI {n} {final}")


class Terminal:
    """A program with a terminal of its own. `shell`: words are run by a shell on it, which outlives the program."""

    def __init__(self, words, rows=24, columns=80, term="xterm-256color", environment=None):
        self.screen = Screen(rows, columns)
        self.raw = b""
        self.status = None
        self.modes_before = None
        ready, go = os.pipe()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.read(ready, 1)
            env = {**os.environ, "TERM": term, "LC_ALL": "C.UTF-8", **(environment or {})}
            os.execvpe(words[0], words, {key: value for key, value in env.items() if value is not None})
        self.size(rows, columns)
        self.modes_before = termios.tcgetattr(self.fd)
        os.write(go, b"g")
        os.close(go)
        os.close(ready)

    def size(self, rows, columns):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def resize(self, rows, columns):
        self.drain(0.2)
        self.screen.resize(rows, columns)
        self.size(rows, columns)

    def modes(self):
        return termios.tcgetattr(self.fd)

    def drain(self, seconds):
        """Reads what comes within so long; False when nothing did."""
        if not select.select([self.fd], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self.fd, 65536)
        except OSError:  # the program ended
            return False
        self.raw += data
        self.screen.feed(data)
        return bool(data)

    def until(self, wanted, what, timeout=60):
        """Reads until wanted(screen) holds and nothing more comes for a moment."""
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            if not self.drain(0.15) and wanted(self.screen):
                td.check(not self.screen.unknown, f"sequences from outside: {self.screen.unknown}")
                return self.screen
        return td.fail(f"{what}: not within {timeout} s. The screen:\n{self.screen.text()}\n"
                       f"the last bytes: {self.raw[-300:]!r}")

    def see(self, *texts, timeout=60):
        return self.until(lambda screen: all(text in screen.text() for text in texts), f"to see {texts}", timeout)

    def press(self, keys):
        os.write(self.fd, keys.encode())

    def wait(self, timeout=60):
        """The wait status, when the program has ended; what it wrote last is read."""
        end = time.monotonic() + timeout
        while self.status is None and time.monotonic() < end:
            self.drain(0.05)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.status = status if pid else None
        while self.status is not None and self.drain(0.05):
            pass
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            td.fail(f"it does not end. The screen:\n{self.screen.text()}")
        return self.status

    def given_back(self, what):
        """After the end: the modes are those from before, the first screen is shown again."""
        td.check(self.modes() == self.modes_before,
                 f"{what}: the terminal's modes changed: {self.modes_before} to {self.modes()}")
        td.check(not self.screen.alternate, f"{what}: the terminal is left on its second screen")
