#!/usr/bin/env python3
"""Runs COMMAND beside a process that listens on a free port: listening.py [--address ADDRESS] COMMAND [ARG...].
In COMMAND's words '{port}' stands for it. The exit status is COMMAND's."""

import argparse
import subprocess
import sys

LISTEN = """
import socket, sys
family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
with socket.socket(family) as listener:
    if family == socket.AF_INET6:
        listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    listener.bind((sys.argv[1], 0))
    listener.listen()
    print(listener.getsockname()[1], flush=True)
    sys.stdin.read()
"""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--address", default="127.0.0.1")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    with subprocess.Popen([sys.executable, "-c", LISTEN, options.address], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as listener:
        port = listener.stdout.readline().strip()
        try:
            return subprocess.call([word.replace("{port}", port) for word in options.command],
                                   stdin=subprocess.DEVNULL)
        finally:
            listener.stdin.close()


if __name__ == "__main__":
    sys.exit(main())
