#!/usr/bin/env python3
"""Loads models with the settings that `picchio plan` recommends, and with one layer more (one block's experts more), onto
the rig's llvmpipe, and holds what the engine allocated there against the target: plan_load.py PICCHIO RIG [MODEL...]. The
device's free memory less the target is a share of what the whole model takes. Prints a line for each case, with what
llama-fit-params chooses for the same target, and in the end how many held."""
import json
import os
import re
import subprocess
import sys
from pathlib import Path

from plan_fit import CONTEXT, MIB, hold

FREE_MIB = 16000  # what plan is told; only the difference to the target counts
BUFFER = re.compile(r"\bVulkan0 (?:model|KV|RS|compute|output) buffer size = +([0-9.]+) MiB")


def environment(rig):
    return {**os.environ, "VK_DRIVER_FILES": f"{rig}/lvp.json", "GGML_VK_VISIBLE_DEVICES": "0",
            "MESA_SHADER_CACHE_DIR": f"{rig}/shader-cache"}


def plan(picchio, model, target_mib):
    words = [picchio, "plan", str(model), "--json", "--one-shot", "-c", CONTEXT, "--vram", repr(FREE_MIB / 1024), "--margin",
             str(target_mib), "--ram", "4096"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    if done.returncode not in (0, 1):
        sys.exit(f"plan_load.py: {model.name}: {done.stderr}")
    return json.loads(done.stdout)["plans"][0]


def loaded_mib(rig, model, layers, experts):
    """What a load allocated on the device; None: it failed."""
    words = [f"{rig}/bin/llama-completion", "-m", str(model), "-p", "x", "-n", "1", "-no-cnv", "--no-warmup", "-lv", "4", "-fit",
             "off", "-c", CONTEXT, "-ngl", str(layers)] + (["-ncmoe", str(experts)] if experts else [])
    done = subprocess.run(words, capture_output=True, text=True, errors="replace", timeout=300, env=environment(rig),
                          stdin=subprocess.DEVNULL)
    sizes = [float(size) for size in BUFFER.findall(done.stderr)]
    return sum(sizes) if done.returncode == 0 else None


def engines_choice(rig, model, budget_mib):
    """What llama-fit-params would do for a target that leaves so much."""
    run = {"capture_output": True, "text": True, "timeout": 120, "env": environment(rig)}
    devices = subprocess.run([f"{rig}/bin/llama-completion", "--list-devices"], **run)
    free = re.search(r"Vulkan0: .*, ([0-9]+) MiB free", devices.stdout + devices.stderr)
    if not free:
        return "unknown"
    done = subprocess.run([f"{rig}/bin/llama-fit-params", "-m", str(model), "-c", CONTEXT, "-fitt",
                           str(int(int(free[1]) - budget_mib))], **run)
    return " ".join(done.stdout.split()) or "nothing"


def check(picchio, rig, model, share):
    whole = plan(picchio, model, 0)["asked"]["devices"][0]["total_bytes"] / MIB
    target = int(FREE_MIB - whole * share)
    budget = FREE_MIB - target
    best = plan(picchio, model, target)["best"]
    if best is None:
        return f"{model.name}: nothing fits {budget} MiB", False
    layers, experts = best["n_gpu_layers"], best["n_cpu_moe"]
    used = loaded_mib(rig, model, layers, experts)
    more = loaded_mib(rig, model, layers, experts - 1) if experts else loaded_mib(rig, model, layers + 1, 0)
    if used is None or more is None:
        return f"{model.name}: {budget} MiB: {best['llama_cpp']}: the load failed  WRONG", False
    good = used <= budget < more
    return (f"{model.name}: {budget} MiB: {best['llama_cpp']}: loaded {used:.1f}, forecast "
            f"{best['devices'][0]['total_bytes'] / MIB:.1f}, one more {more:.1f}; llama-fit-params: "
            f"{engines_choice(rig, model, budget)}{'' if good else '  WRONG'}"), good


def main():
    picchio, rig, *names = sys.argv[1:]
    models = [path for path in sorted(Path(rig, "models").glob("*.gguf"))
              if (not names or path.stem in names) and not re.search(r"-0000[2-9]-of-", path.stem)]
    return hold(models, lambda model, share: check(picchio, rig, model, share))


if __name__ == "__main__":
    sys.exit(main())
