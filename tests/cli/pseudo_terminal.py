"""What the tests that look at a program through a pseudo-terminal share."""
import os
import re
import select
import termios
import time

DRAWN = b"\x1b[J"  # ends every picture


def read_until(fd, have, wanted, seconds):
    """`have` with what came until `wanted` stands in it, the time is over or nobody writes any more."""
    end = time.monotonic() + seconds
    while wanted not in have and time.monotonic() < end:
        if select.select([fd], [], [], 0.05)[0]:
            try:
                have += os.read(fd, 65536)
            except OSError:
                break
    return have


def settings(fd):
    mode = termios.tcgetattr(fd)
    return mode[0], mode[1], mode[3] & ~getattr(termios, "PENDIN", 0)


def text(seen):
    """Without what moves the cursor and colours."""
    return re.sub(rb"\x1b\[[0-9;]*[A-Za-z]", b"", seen).decode(errors="replace").replace("\r", "")
