#!/usr/bin/env python3
"""Drives the menu on a pseudo-terminal: menu_live.py [--narrow] KEYS COMMAND [ARG...]. KEYS is what is typed, with \\x1b and
kin for keys; "^C" alone is an interrupt, "TERM" a signal. A "|" waits until the menu was drawn twice more, a "," for a
moment. Prints what a person would see to be right, how it ended, and what came on the terminal and on stdout."""

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

from pseudo_terminal import DRAWN, read_until, settings, text


def type_keys(process, master, keys):
    if keys == "TERM":
        process.send_signal(signal.SIGTERM)
        return b""
    seen = b""
    for part in re.split("([|,])", "\x03" if keys == "^C" else keys):
        if part == "|":
            seen += read_until(master, b"", DRAWN, 2) + read_until(master, b"", DRAWN, 2)
        elif part == ",":
            time.sleep(0.02)
        else:
            os.write(master, part.encode("latin-1").decode("unicode_escape").encode("latin-1"))
    return seen


def take_terminal():
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def main():
    words = sys.argv[1:]
    narrow = words[0] == "--narrow"
    keys, command = (words[1], words[2:]) if narrow else (words[0], words[1:])
    columns, rows = (34, 6) if narrow else (100, 24)
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    before = settings(master)
    with tempfile.TemporaryFile() as stdout:
        process = subprocess.Popen(command, stdin=slave, stdout=stdout, stderr=slave, preexec_fn=take_terminal,
                                   env=dict(os.environ, TERM="xterm-256color"))
        first = read_until(master, b"", DRAWN, 10)
        if DRAWN in first:
            print("menu:")
            print(text(first))
            lines = text(first).splitlines()
            print("fits" if len(lines) < rows and max(map(len, lines)) < columns else "DOES NOT FIT")
            print("coloured" if b"\x1b[7m" in first else "not coloured")
            print("keys are ours" if not termios.tcgetattr(master)[3] & termios.ICANON else "keys are NOT ours")
            rest = type_keys(process, master, keys)
        else:
            print("no menu")
            rest = first
        end = time.monotonic() + 30
        while process.poll() is None and time.monotonic() < end:
            rest += read_until(master, b"", b"\0", 0.1)
        if process.poll() is None:
            process.kill()
            print("did NOT end")
        rest += read_until(master, b"", b"\0", 0.1)
        print("exit", process.wait())
        print("terminal as before" if settings(master) == before else "terminal CHANGED")
        print("on the terminal:")
        print(text(rest))
        stdout.seek(0)
        print("stdout:")
        print(stdout.read().decode(errors="replace"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
