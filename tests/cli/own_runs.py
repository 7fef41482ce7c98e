#!/usr/bin/env python3
"""Lines for `picchio history import`: runs of models on this machine's CPU, at rates that are made up.

    own_runs.py PICCHIO RUN.jsonl [--set PATH=JSON]... MODEL=DECODE,PREFILL... > runs.jsonl

RUN.jsonl holds one exported run of this machine, whose name and CPU the others take over. --set changes
all of them: --set host='"other"' --set figures.meter.throttled=true.
"""

import copy
import hashlib
import json
import subprocess
import sys
from pathlib import Path


def lane(rate):
    value = {"value": rate, "abstains": False}
    return {"cold": value, "warm": value, "low": rate, "high": rate}


def run_of(picchio, like, model, decode, prefill):
    plan = json.loads(subprocess.run([picchio, "plan", "--json", "--cpu", "--no-history", model], check=True,
                                     capture_output=True).stdout)
    weight = plan["plans"][0]["tensor_bytes"]
    run = copy.deepcopy(like)
    run["model_key"] = run["model_file"] = str(Path(model).resolve())
    figures = run["figures"]
    figures.update(model=Path(model).name, weight_bytes=weight, decode=lane(decode), prefill=lane(prefill),
                   only_one_pass=False, state="CPU ONLY MACHINE")
    figures["placement"].update(arguments="", gpu_share=0, kv="cpu", device="",
                                devices=[{"device": "host", "bytes": weight, "note": ""}])
    figures["cpu"] = {"busy_cores": 2, "cores": 2, "threads": 2}
    figures["cold_pass"] = None
    figures["meter"]["throttled"] = False
    return run


def put(run, path, value):
    *folders, name = path.split(".")
    for folder in folders:
        run = run[folder]
    run[name] = value


def main():
    picchio, like, *words = sys.argv[1:]
    like = json.loads(Path(like).read_text().splitlines()[0])
    changes = []
    while words and words[0] == "--set":
        path, _, value = words[1].partition("=")
        changes.append((path, json.loads(value)))
        words = words[2:]
    for word in words:
        model, _, rates = word.rpartition("=")
        run = run_of(picchio, like, model, *(float(rate) for rate in rates.split(",")))
        for path, value in changes:
            put(run, path, value)
        run["id"] = hashlib.md5(f"{word} {changes}".encode()).hexdigest()
        print(json.dumps(run))
    return 0


if __name__ == "__main__":
    sys.exit(main())
