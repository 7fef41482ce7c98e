"""Finds processes by an environment marker that their ancestors gave them, never by name."""

import os
import time


def marked(marker):
    """Process ids, zombies aside, whose environment holds the assignment `marker` ("NAME=value")."""
    wanted = marker.encode()
    found = []
    for entry in os.listdir("/proc") if os.path.isdir("/proc/self") else []:
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/environ", "rb") as environ:
                if wanted in environ.read().split(b"\0"):
                    found.append(int(entry))
        except OSError:
            continue  # gone meanwhile, or another user's
    return [pid for pid in found if pid != os.getpid()]


def left_after(marker, seconds):
    """Marked processes that still live after `seconds` of grace; returns early when none does."""
    end = time.monotonic() + seconds
    while True:
        left = marked(marker)
        if not left or time.monotonic() > end:
            return left
        time.sleep(0.02)


def describe(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return f"{pid} ({file.read().replace(bytes(1), b' ').decode(errors='replace').strip()[:120]})"
    except OSError:
        return str(pid)
