#!/usr/bin/env python3
"""Compares the NVML meter with nvidia-smi on a machine with an NVIDIA GPU, and keeps what both said.

    nvml_record.py --print-nvml BUILD/tests/device/print_nvml --out DIR [--seconds 10] [-- LOAD ARG...]

LOAD is started first and stopped at the end: an engine that computes, so that busy, power and the
list of processes have something to say. In DIR lie meter.jsonl, nvidia-smi.csv, processes.csv and
summary.txt.
Exit: 0 both agree, 1 they differ, 77 no nvidia-smi or no GPU here.
"""
import argparse
import csv
import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import time

# Field of nvidia-smi, of the meter, its size in that field's unit, and how far medians may lie apart:
# absolutely, or as a share of the larger. Both look at different moments and windows.
SAMPLED = [
    ("utilization.gpu", "busy_percent", 1, 15, 0.15),
    ("memory.used", "memory_bytes", 1 << 20, 64, 0.02),
    ("power.draw", "power_watts", 1, 8, 0.15),
    ("clocks.sm", "clock_mhz", 1, 100, 0.15),
    ("clocks.mem", "memory_clock_mhz", 1, 50, 0.05),
    ("temperature.gpu", "temperature_celsius", 1, 3, 0.05),
]
FIXED = ["index", "name", "pci.bus_id", "driver_version", "memory.total", "pcie.link.gen.max", "pcie.link.width.max"]
FIELDS = FIXED + [row[0] for row in SAMPLED]


def smi(query):
    done = subprocess.run(["nvidia-smi", query, "--format=csv,noheader,nounits"], capture_output=True,
                          text=True, timeout=60, check=False)
    return [[cell.strip() for cell in row] for row in csv.reader(done.stdout.splitlines())]


def number(text):
    try:
        return float(text)
    except ValueError:  # "[N/A]", "[Not Supported]"
        return None


def record(args, pids):
    """Lines of the meter and rows of nvidia-smi over the same seconds."""
    command = [args.print_nvml, "--seconds", str(args.seconds), *map(str, pids)]
    if args.library:
        command[1:1] = ["--library", args.library]
    with open(args.out / "meter.jsonl", "w", encoding="utf-8") as file:
        meter = subprocess.Popen(command, stdout=file)
        rows = []
        while meter.poll() is None:
            rows += smi("--query-gpu=" + ",".join(FIELDS))
            time.sleep(0.5)
    if meter.returncode != 0:
        sys.exit(f"print_nvml ended with {meter.returncode}")
    with open(args.out / "nvidia-smi.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([FIELDS, *rows])
    lines = [json.loads(line) for line in (args.out / "meter.jsonl").read_text(encoding="utf-8").splitlines()]
    return lines, [dict(zip(FIELDS, row)) for row in rows]


def sysfs_address(bus_id):
    domain, rest = bus_id.lower().split(":", 1)
    return f"{int(domain, 16):04x}:{rest}"


def compare_fixed(gpu, row):
    total = number(row["memory.total"])
    link = gpu.get("link_max", {})
    yield "name", gpu["name"], row["name"], gpu["name"] == row["name"]
    yield "driver", gpu["driver"], row["driver_version"], gpu["driver"] == row["driver_version"]
    mib = gpu.get("memory_bytes", 0) / (1 << 20)
    yield "memory total, MiB", mib, total, (total or 0) == 0 and mib == 0 or abs(mib - (total or 0)) <= 1
    for name, field in (("generation", "pcie.link.gen.max"), ("width", "pcie.link.width.max")):
        theirs = number(row[field])
        ours = link.get(name)
        yield "link " + name, ours, theirs, ours == theirs or gpu["unified_memory"]


def compare_sampled(readings, rows):
    for field, name, unit, absolute, share in SAMPLED:
        ours = [line[name] / unit for line in readings if name in line]
        theirs = [value for value in (number(row[field]) for row in rows) if value is not None]
        if not ours or not theirs:
            # One of them told a figure that the other did not.
            yield name, len(ours), len(theirs), not ours and not theirs
            continue
        a, b = statistics.median(ours), statistics.median(theirs)
        yield name, round(a, 2), round(b, 2), abs(a - b) <= max(absolute, share * max(a, b))


def compare_energy(readings):
    """The counter against the area under power, where there is both."""
    both = [line for line in readings if "energy_joules" in line and "power_watts" in line]
    if len(both) < 10:
        return
    area = sum((b["at"] - a["at"]) * (a["power_watts"] + b["power_watts"]) / 2 for a, b in zip(both, both[1:]))
    counted = both[-1]["energy_joules"] - both[0]["energy_joules"]
    # Power lags behind by up to a second, the counter by a tenth.
    yield "energy, J: counter, area", round(counted, 1), round(area, 1), abs(counted - area) <= max(10, 0.15 * area)


def compare_processes(lines, rows):
    for pid, mib in ((int(row[0]), number(row[1])) for row in rows if len(row) == 2 and row[0].isdigit()):
        ours = [line["memory_bytes"] / (1 << 20) for line in lines if line.get("pid") == pid and "memory_bytes" in line]
        seen = any(line.get("pid") == pid for line in lines)
        good = seen if mib is None or not ours else abs(max(ours) - mib) <= max(64, 0.05 * mib)
        yield f"process {pid}, MiB", max(ours, default=None), mib, good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--print-nvml", required=True)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--library", help="another libnvidia-ml.so.1")
    parser.add_argument("--settle", type=float, default=5, help="seconds between the load's start and the first look")
    parser.add_argument("load", nargs="*")
    args = parser.parse_args()
    if shutil.which("nvidia-smi") is None or not smi("--query-gpu=index"):
        print("no nvidia-smi that knows a GPU here")
        return 77
    args.out.mkdir(parents=True, exist_ok=True)
    load = subprocess.Popen(args.load, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) if args.load else None
    try:
        if load:
            time.sleep(args.settle)
        processes = smi("--query-compute-apps=pid,used_memory")
        with open(args.out / "processes.csv", "w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([["pid", "used_memory"], *processes])
        pids = [int(row[0]) for row in processes if row and row[0].isdigit()]
        lines, rows = record(args, pids)
    finally:
        if load:
            load.terminate()
            load.wait()
    results = []
    for gpu in (line for line in lines if "address" in line):
        mine = [row for row in rows if sysfs_address(row["pci.bus_id"]) == gpu["address"]]
        readings = [line for line in lines if "at" in line and line.get("device") == gpu["device"] and "pid" not in line]
        results.append((f"GPU {gpu['device']} is in both", gpu["address"], len(mine), bool(mine)))
        if mine:
            results += [*compare_fixed(gpu, mine[0]), *compare_sampled(readings, mine), *compare_energy(readings)]
        for missing in gpu["missing"]:
            results.append((f"missing: {missing['figure']}", missing["reason"], "", True))
    results += compare_processes(lines, processes)
    text = "".join(f"{'ok  ' if good else 'DIFF'} {what}: meter {a}, nvidia-smi {b}\n" for what, a, b, good in results)
    (args.out / "summary.txt").write_text(text, encoding="utf-8")
    print(text, end="")
    return 0 if results and all(row[3] for row in results) else 1


if __name__ == "__main__":
    sys.exit(main())
