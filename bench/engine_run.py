#!/usr/bin/env python3
"""What measuring costs, on the real engine: start-up time, picchio's own CPU time, and whether the
engine's rates suffer from being watched.

usage: engine_run.py PICCHIO MODEL.gguf [--bin LLAMA_COMPLETION] [--bench LLAMA_BENCH] [--pairs N]
                     [--threads N]

Each pair runs one pass under picchio and the very same command alone, in alternating order, and
llama-bench where there is one; the figure is the median of the pair ratios, since machines drift. Needs a model large enough for a pass of seconds.
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

LANES = ("prefill", "decode")
# What llama-bench does otherwise than a completion.
DIFFERENCES = {
    "prefill": "llama-bench feeds random tokens into a context that was warmed up with the same shape",
    "decode": "llama-bench's decode has no sampler chain and no detokenizer",
}
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


def llama_bench(args, prompt=750, generate=128):
    """llama-bench's own rates; decode at the depth where picchio's decode happens: behind the prompt."""
    found = {}
    for lane, shape in (("prefill", ["-p", str(prompt), "-n", "0"]),
                        ("decode", ["-p", "0", "-n", str(generate), "-d", str(prompt)])):
        threads = ["-t", str(args.threads)] if args.threads else []
        done = subprocess.run([args.bench, "-m", args.model, *threads, *shape, "-r", "1", "-o", "json"],
                              capture_output=True, text=True, check=True)
        found[lane] = json.loads(done.stdout)[0]["avg_ts"]
    return found


def measure(args):
    """Rounds of the three in rotating order; rates by contestant and lane, and picchio's own CPU."""
    seen = {who: {lane: [] for lane in LANES} for who in ("picchio", "alone", "llama-bench")}
    own = []
    argv, _, _ = watched(args)  # warm-up, and the command
    for number in range(args.pairs):
        order = ["picchio", "alone"] if number % 2 else ["alone", "picchio"]
        if args.bench:
            order.insert(number % 3, "llama-bench")
        for who in order:
            if who == "picchio":
                argv, found, cost = watched(args)
                if cost is not None:
                    own.append(cost)
            else:
                found = alone(argv) if who == "alone" else llama_bench(args)
            for lane in LANES:
                seen[who][lane].append(found[lane])
    return seen, own


def ratios(seen, over, under, lane):
    return [a / b for a, b in zip(seen[over][lane], seen[under][lane])]


def report(args, seen, own):
    for lane in LANES:
        values = ratios(seen, "picchio", "alone", lane)
        print(f"{lane}: under picchio / alone, median of {len(values)} pairs "
              f"{statistics.median(values):.4f} (range {min(values):.3f} to {max(values):.3f}), "
              f"median rate {statistics.median(seen['picchio'][lane]):.1f} tok/s")
    print(f"picchio's own CPU: median {100 * statistics.median(own):.2f}% of one core, "
          f"worst {100 * max(own):.2f}%")
    if not args.bench:
        print("llama-bench: not found, no comparison")
        return
    for lane in LANES:
        ratio = statistics.median(ratios(seen, "picchio", "llama-bench", lane))
        line = f"{lane}: picchio / llama-bench (same prompt length and depth) {ratio:.3f}"
        if abs(ratio - 1) > 0.05:
            # Whose difference it is can be measured; picchio's is the first line above.
            engines = statistics.median(ratios(seen, "alone", "llama-bench", lane))
            line += (f"; the engine's two programs differ by themselves: the same command without picchio "
                     f"/ llama-bench is {engines:.3f} ({DIFFERENCES[lane]})")
        print(line)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("picchio")
    parser.add_argument("model")
    parser.add_argument("--bin")
    parser.add_argument("--bench", default=shutil.which("llama-bench"))
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--threads", type=int, help="of the engine; default: its own, every core")
    args = parser.parse_args()
    startup(args.picchio)
    with tempfile.TemporaryDirectory() as cache:
        args.cache = cache
        seen, own = measure(args)
    report(args, seen, own)


if __name__ == "__main__":
    main()
