#!/usr/bin/env python3
"""Runs COMMAND beside an RPC worker of the rig: with_rpc.py RIG COMMAND [ARG...]. In COMMAND's words
'{rpc}' stands for the worker's address. The exit status is COMMAND's."""

import os
import socket
import subprocess
import sys
import time


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def accepts(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
        return True
    except OSError:
        return False


def main():
    rig, command = sys.argv[1], sys.argv[2:]
    port = free_port()
    environment = {**os.environ, "VK_DRIVER_FILES": f"{rig}/none/none.json"}
    with open(os.path.join(os.environ.get("HOME", "/tmp"), "rpc.log"), "wb") as log, subprocess.Popen(
            [f"{rig}/bin/ggml-rpc-server", "-H", "127.0.0.1", "-p", str(port)],
            env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log) as server:
        try:
            end = time.monotonic() + 20
            while not accepts(port):
                if server.poll() is not None or time.monotonic() > end:
                    print("with_rpc: ggml-rpc-server does not listen", file=sys.stderr)
                    return 99
                time.sleep(0.05)
            address = f"127.0.0.1:{port}"
            return subprocess.call([word.replace("{rpc}", address) for word in command])
        finally:
            server.kill()


if __name__ == "__main__":
    sys.exit(main())
