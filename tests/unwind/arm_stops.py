# SPDX-License-Identifier: MIT
"""Run by gdb-multiarch, connected to an aarch64 program under emulation: stops it STOPS times, steps a few
instructions on, and writes registers, stack bytes and the debugger's own frames to OUT. With FROM=chain the frames
are those of the frame pointers, signatures removed, since this debugger cannot tell signed addresses.

OUT: begin and end of the code, then of each stack x0 to x30, sp, pc, the number of stack bytes, these, the number of
frames, their addresses; all 64-bit."""
import os
import struct

import gdb  # pylint: disable=import-error

STACK_BYTES = 8192
ADDRESS = (1 << 48) - 1  # signatures stand above


def code_range(path):
    """The executable segment of an ELF file."""
    with open(path, "rb") as file:
        data = file.read()
    start, = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    for i in range(count):
        kind, flags, _, address, _, _, length = struct.unpack_from("<IIQQQQQ", data, start + i * size)
        if kind == 1 and flags & 1:
            return address, address + length
    raise RuntimeError("no code")


def registers():
    frame = gdb.newest_frame()
    return [int(frame.read_register(name)) & (1 << 64) - 1 for name in [f"x{i}" for i in range(31)] + ["sp", "pc"]]


def stack_bytes(sp):
    """What is mapped from sp on, at most STACK_BYTES."""
    size = STACK_BYTES
    while size:
        try:
            return bytes(gdb.selected_inferior().read_memory(sp, size))
        except gdb.MemoryError:
            size //= 2
    return b""


def debugger_frames():
    frames, frame = [], gdb.newest_frame()
    while frame is not None and frame.is_valid():
        frames.append(frame.pc())
        frame = frame.older()
    return frames


def chain_frames(regs, stack):
    """In a leaf without a frame: the link register, then the frame records."""
    frames, fp = [regs[32], regs[30] & ADDRESS], regs[29]
    while fp >= regs[31] and fp - regs[31] + 16 <= len(stack):
        fp, address = struct.unpack_from("<QQ", stack, fp - regs[31])
        if address == 0:
            break
        frames.append(address & ADDRESS)
    return frames


def main():
    program, out, stops = os.environ["PROGRAM"], os.environ["OUT"], int(os.environ["STOPS"])
    chain = os.environ.get("FROM") == "chain"
    for command in ("set pagination off", "set confirm off", "set backtrace past-main on", "set width 0",
                    "set stack-cache on", f"target remote {os.environ['SOCKET']}", "break stop"):
        gdb.execute(command, to_string=True)
    with open(out, "wb") as file:
        file.write(struct.pack("<QQ", *code_range(program)))
        for i in range(stops):
            gdb.execute("continue", to_string=True)
            if not chain and i % 29:
                gdb.execute(f"stepi {i % 29}", to_string=True)
            regs = registers()
            stack = stack_bytes(regs[31])
            frames = chain_frames(regs, stack) if chain else debugger_frames()
            file.write(struct.pack("<33Q", *regs) + struct.pack("<Q", len(stack)) + stack)
            file.write(struct.pack(f"<{1 + len(frames)}Q", len(frames), *frames))
    gdb.execute("kill", to_string=True)


main()
