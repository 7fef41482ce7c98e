#!/usr/bin/env python3
"""What `picchio guard` costs: bytes through it, and the time that it adds to a line.

    guard_run.py PICCHIO [MiB]

A figure, never a gate. The writer copies real log text in blocks of 64 KiB; the reader throws it away. For the lines
a program writes one every millisecond with the moment of its writing in it, and the reader notes its own; the
difference to the same through a bare pipe is what guard adds."""
import os
import re
import statistics
import subprocess
import sys
import time

PICCHIO = sys.argv[1]
MIB = int(sys.argv[2]) if len(sys.argv) > 2 else 1024
HERE = os.path.dirname(os.path.abspath(__file__))
LOG = os.path.join(HERE, "..", "src", "engines", "llama_cpp", "testdata", "server-verbosity-4.log")
FLOOD = """
import os, sys
block = open(sys.argv[1], 'rb').read()
block *= (65536 // len(block)) + 1
left = int(sys.argv[2]) << 20
while left > 0:
    left -= os.write(2, block[:left])
"""
LINES = """
import os, time
for _ in range(2000):
    os.write(2, b'%d\\n' % time.monotonic_ns())
    time.sleep(0.001)
"""


def throughput(command):
    run = subprocess.Popen(command + [sys.executable, "-c", FLOOD, LOG, str(MIB)], stderr=subprocess.PIPE)
    began = time.monotonic()
    size, peak = 0, 0
    fd = run.stderr.fileno()
    while got := os.read(fd, 1 << 20):
        size += len(got)
        if size & 0x3f < 4:
            try:
                with open(f"/proc/{run.pid}/status", encoding="ascii") as status:
                    found = re.search(r"VmHWM:\s+(\d+)", status.read())
                    peak = max(peak, int(found[1]) if found else 0)
            except OSError:
                pass
    took = time.monotonic() - began
    run.wait()
    return size / took / 1e6, peak / 1024


def delays(command):
    run = subprocess.Popen(command + [sys.executable, "-c", LINES], stderr=subprocess.PIPE)
    out = []
    for line in iter(run.stderr.readline, b""):
        now = time.monotonic_ns()
        if line.strip().isdigit():
            out.append((now - int(line)) / 1e6)
    run.wait()
    return out


guard = [PICCHIO, "guard", "--"]
for name, command in (("bare pipe", []), ("guard", guard)):
    rate, peak = throughput(command)
    print(f"{name:10} {MIB} MiB at {rate:.0f} MB/s" + (f", peak memory {peak:.0f} MiB" if command else ""))
for name, command in (("bare pipe", []), ("guard", guard)):
    took = sorted(delays(command))
    print(f"{name:10} line delay median {statistics.median(took):.3f} ms, 99% {took[int(len(took) * 0.99)]:.3f} ms")
