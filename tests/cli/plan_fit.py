#!/usr/bin/env python3
"""Holds the settings that `picchio plan` recommends against the engine's own projection of them, and of one layer more:
plan_fit.py PICCHIO RIG RPC-ADDRESS FOLDER [MODEL...]. FOLDER holds headers (sparse files will do). Prints a line for
each case and, in the end, how many of them held."""
import json
import os
import subprocess
import sys
from pathlib import Path

MIB = 1 << 20
CONTEXT = "4096"
BUDGETS = (0.35, 0.6, 0.85)  # of what the whole model takes


def plan(picchio, model, vram_mib):
    words = [picchio, "plan", str(model), "--json", "--one-shot", "--no-op-offload", "-c", CONTEXT, "--margin", "0",
             "--ram", "4096", "--vram", repr(vram_mib / 1024)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    if done.returncode not in (0, 1):
        sys.exit(f"plan_fit.py: {model.name}: {done.stderr}")
    return json.loads(done.stdout)["plans"][0]


def engine_mib(rig, rpc, model, layers, experts):
    """What the engine says the device would hold, in whole MiB each for weights, context and compute."""
    words = [f"{rig}/bin/llama-fit-params", "-m", str(model), "--rpc", rpc, "-c", CONTEXT, "-ngl", str(layers), "-fit", "off",
             "-fitp", "on"] + (["-ncmoe", str(experts)] if experts else [])
    environment = {**os.environ, "VK_DRIVER_FILES": f"{rig}/none/none.json"}
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, env=environment)
    for line in done.stdout.splitlines():
        fields = line.split()
        if fields and fields[0].startswith("RPC"):
            return sum(int(field) for field in fields[1:4])
    sys.exit(f"plan_fit.py: {model.name}: the engine projects nothing: {done.stderr[-500:]}")


def check(picchio, rig, rpc, model, share):
    whole = plan(picchio, model, 1 << 20)["asked"]["devices"][0]["total_bytes"] / MIB
    budget = whole * share
    found = plan(picchio, model, budget)
    best = found["best"]
    if best is None:
        return f"{model.name}: nothing fits {budget:.0f} MiB", False
    layers, experts = best["n_gpu_layers"], best["n_cpu_moe"]
    used = engine_mib(rig, rpc, model, layers, experts)
    if experts:
        more = engine_mib(rig, rpc, model, layers, experts - 1)
    else:
        more = engine_mib(rig, rpc, model, layers + 1, 0)
    # Each of the engine's three figures is cut off to whole MiB.
    good = used <= budget and more + 3 > budget
    forecast = best["devices"][0]["total_bytes"] / MIB
    return (f"{model.name}: {budget:.0f} MiB: {best['llama_cpp']}: engine {used}, forecast {forecast:.0f}, one more {more}"
            f"{'' if good else '  WRONG'}"), good


def hold(models, check):
    """Prints what check(model, share) says of every model and budget; the exit status: were nine of ten good?"""
    results = []
    for model in models:
        for share in BUDGETS:
            text, good = check(model, share)
            print(text, flush=True)
            results.append(good)
    print(f"{sum(results)} of {len(results)} held")
    return 0 if results and sum(results) >= 0.9 * len(results) else 1


def main():
    picchio, rig, rpc, folder, *names = sys.argv[1:]
    models = sorted(path for path in Path(folder).glob("*.gguf") if not names or path.stem in names)
    return hold(models, lambda model, share: check(picchio, rig, rpc, model, share))


if __name__ == "__main__":
    sys.exit(main())
