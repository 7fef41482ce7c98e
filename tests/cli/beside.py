#!/usr/bin/env python3
"""Runs COMMAND beside two processes that only burn CPU time: beside.py [--end-after SECONDS] [--user NAME]
COMMAND [ARG...]. Their pids stand in the files 'pid' and 'other' of the current folder, and for '{pid}' and
'{other}' in COMMAND's words. --end-after kills the first one; --user runs it as somebody else. The exit status
is COMMAND's."""

import argparse
import os
import pwd
import subprocess
import sys
import threading
from pathlib import Path

BURN = "import time\nwhile True:\n    for i in range(20000): pass\n    time.sleep(0.005)\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--end-after", type=float)
    parser.add_argument("--user")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    user = {"user": pwd.getpwnam(options.user).pw_uid} if options.user else {}
    with subprocess.Popen([sys.executable, "-c", BURN], **user) as first, \
            subprocess.Popen([sys.executable, "-c", BURN]) as second:
        timer = threading.Timer(options.end_after or 0, lambda: (first.kill(), first.wait()))
        try:
            for name, process in (("pid", first), ("other", second)):
                Path(name).write_text(f"{process.pid}\n", encoding="ascii")
            if options.end_after:
                timer.start()
            words = [word.replace("{pid}", str(first.pid)).replace("{other}", str(second.pid))
                     for word in options.command]
            return subprocess.call(words)
        finally:
            timer.cancel()
            first.kill()
            second.kill()


if __name__ == "__main__":
    sys.exit(main())
