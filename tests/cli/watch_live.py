#!/usr/bin/env python3
"""Drives the live view on a pseudo-terminal: watch_live.py HOW COMMAND [ARG...]. HOW is q, ctrl-c, term or narrow.
Prints what a person would see to be right: the frame was drawn in place, the process ended as asked with code 0, the
terminal is as it was, and the summary stands there."""

import fcntl
import os
import pty
import re
import signal
import struct
import sys
import termios
import time

from pseudo_terminal import DRAWN, read_until, settings, text


def main():
    how, command = sys.argv[1], sys.argv[2:]
    columns = 44 if how == "narrow" else 100
    pid, fd = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 12, columns, 0, 0))
        os.environ["TERM"] = "xterm-256color"
        os.execvp(command[0], command)
    before = settings(fd)
    seen = read_until(fd, b"", DRAWN, 10)
    first = len(seen)
    seen = read_until(fd, seen, DRAWN, 0) + read_until(fd, b"", DRAWN, 10)
    print("drawn again in place" if re.search(rb"\r\x1b\[\d+A", seen[first - 5:]) else "NOT drawn again")
    frame = text(seen[:first])
    print("frame:", frame.strip().splitlines()[0])
    widest = max(len(line) for line in frame.splitlines())
    print("narrow enough" if widest < columns else f"TOO WIDE: {widest}")
    print("keys are ours" if not termios.tcgetattr(fd)[3] & termios.ICANON else "keys are NOT ours")
    if how == "term":
        os.kill(pid, signal.SIGTERM)
    else:
        os.write(fd, b"\x03" if how == "ctrl-c" else b"xq")
    rest = read_until(fd, b"", b"NOT SURE", 0.5)
    end = time.monotonic() + 20
    done, status = os.waitpid(pid, os.WNOHANG)
    while done == 0 and time.monotonic() < end:
        rest += read_until(fd, b"", b"\0", 0.1)
        done, status = os.waitpid(pid, os.WNOHANG)
    if done == 0:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        print("did NOT end")
        return 1
    print("exit", os.waitstatus_to_exitcode(status))
    try:
        print("terminal as before" if settings(fd) == before else "terminal CHANGED")
    except termios.error as error:
        print("terminal cannot be asked:", error)
    print(text(rest))
    return 0


if __name__ == "__main__":
    sys.exit(main())
