#!/usr/bin/env python3
"""What measuring costs, on the real engine: start-up time, picchio's own CPU time, and whether the
engine's rates suffer from being watched.

usage: engine_run.py PICCHIO MODEL.gguf [--bin LLAMA_COMPLETION] [--bench LLAMA_BENCH] [--pairs N]
                     [--threads N]

Each pair runs one pass under picchio and the very same command alone, in alternating order; the figure
is the median of the pair ratios, since machines drift. Needs a model large enough for a pass of seconds.
"""
import argparse
import json
import os
import pathlib
import re
import resource
import shutil
import statistics
import subprocess
import tempfile
import time

PERF = re.compile(r"(prompt eval|\beval) time =\s*([\d.]+) ms /\s*(\d+) (?:tokens|runs)")


def rates(log):
    out = {}
    for kind, ms, count in PERF.findall(log):
        if float(ms) > 0:
            out["prefill" if kind.startswith("prompt") else "decode"] = 1000 * int(count) / float(ms)
    return out


def startup(picchio, runs=200):
    times = []
    null = os.open(os.devnull, os.O_WRONLY)
    for _ in range(runs):
        began = time.perf_counter()
        pid = os.posix_spawn(picchio, [picchio, "--version"], os.environ,
                             file_actions=[(os.POSIX_SPAWN_DUP2, null, 1)])
        os.waitpid(pid, 0)
        times.append(time.perf_counter() - began)
    print(f"--version: median {1e3 * statistics.median(times):.2f} ms, "
          f"worst {1e3 * max(times):.2f} ms of {runs}")


def environment():
    """As picchio sets it for the engine."""
    env = dict(os.environ, LC_NUMERIC="C")
    env.pop("LC_ALL", None)
    return env


def watched(args):
    """One pass under picchio: its argv, its rates, and the CPU time of picchio itself."""
    with tempfile.TemporaryDirectory() as folder:
        keep = pathlib.Path(folder) / "keep"
        env = dict(os.environ, XDG_CACHE_HOME=args.cache)
        command = [args.picchio, args.model, "--passes", "1", "--keep-logs", str(keep)]
        if args.bin:
            command += ["--bin", args.bin]
        if args.threads:
            command += ["--", "-t", str(args.threads)]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        began = time.perf_counter()
        done = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        wall = time.perf_counter() - began
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if not (keep / "pass1.meta.json").exists():
            raise SystemExit(f"picchio failed:\n{done.stderr}")
        meta = json.loads((keep / "pass1.meta.json").read_text())
        log = (keep / "pass1.stderr.txt").read_text(errors="replace")
    total = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    _, engine = meta["cpu"][-1]  # microseconds since the start, CPU seconds of the engine's whole tree
    # Tries whose log was lost are in the children's time and not in the kept pass.
    own = None if meta.get("repeats") else (total - engine) / wall
    return meta["argv"], rates(log), own


def alone(argv):
    # As often as picchio would: the engine can exit before its log is out.
    for _ in range(8):
        done = subprocess.run(argv, env=environment(), stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                              errors="replace", check=True)
        found = rates(done.stderr)
        if len(found) == 2:
            return found
    raise SystemExit("the engine alone printed no rates")


def disturbance(args):
    ratios = {"prefill": [], "decode": []}
    seen = {"prefill": [], "decode": []}
    own = []
    argv, _, _ = watched(args)  # warm-up, and the command
    for pair in range(args.pairs):
        if pair % 2:
            bare = alone(argv)
            argv, under, cost = watched(args)
        else:
            argv, under, cost = watched(args)
            bare = alone(argv)
        if cost is not None:
            own.append(cost)
        for lane, values in ratios.items():
            values.append(under[lane] / bare[lane])
            seen[lane].append(under[lane])
    for lane, values in ratios.items():
        print(f"{lane}: under picchio / alone, median of {len(values)} pairs "
              f"{statistics.median(values):.4f} (range {min(values):.3f} to {max(values):.3f}), "
              f"median rate {statistics.median(seen[lane]):.1f} tok/s")
    print(f"picchio's own CPU: median {100 * statistics.median(own):.2f}% of one core, "
          f"worst {100 * max(own):.2f}%")
    return {lane: statistics.median(values) for lane, values in seen.items()}


def against_llama_bench(args, rate, prompt=750, generate=128):
    bench = args.bench or shutil.which("llama-bench")
    if not bench:
        print("llama-bench: not found, no comparison")
        return
    threads = ["-t", str(args.threads)] if args.threads else []
    # Decode at the depth where picchio's decode happens: behind the prompt.
    done = subprocess.run([bench, "-m", args.model, *threads, "-p", str(prompt), "-n", "0", "-r", "5", "-o",
                           "json"],
                          capture_output=True, text=True, check=True)
    prefill = json.loads(done.stdout)[0]["avg_ts"]
    done = subprocess.run([bench, "-m", args.model, *threads, "-p", "0", "-n", str(generate), "-d", str(prompt),
                           "-r", "5", "-o", "json"], capture_output=True, text=True, check=True)
    decode = json.loads(done.stdout)[0]["avg_ts"]
    reasons = {
        "prefill": "llama-bench feeds random tokens after a warm-up of the same shape and computes no "
                   "sampling; its context is just long enough",
        "decode": "picchio's decode includes sampling with the default chain and the detokenizer; "
                  "llama-bench's does not",
    }
    for lane, theirs in (("prefill", prefill), ("decode", decode)):
        ratio = rate[lane] / theirs
        line = f"{lane}: picchio / llama-bench (prompt {prompt}, depth {prompt}) {ratio:.3f}"
        print(line + (f"; {reasons[lane]}" if abs(ratio - 1) > 0.05 else ""))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("picchio")
    parser.add_argument("model")
    parser.add_argument("--bin")
    parser.add_argument("--bench")
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--threads", type=int, help="of the engine; default: its own, every core")
    args = parser.parse_args()
    startup(args.picchio)
    with tempfile.TemporaryDirectory() as cache:
        args.cache = cache
        rate = disturbance(args)
    against_llama_bench(args, rate)


if __name__ == "__main__":
    main()
