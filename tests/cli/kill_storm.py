#!/usr/bin/env python3
"""Kills measured runs at random moments and checks what is left.

Each round starts `picchio MODEL` and at a random moment sends SIGINT, SIGTERM or SIGKILL to picchio, or
SIGKILL to its engine. Afterwards: no engine process lives (found by an environment marker, never by
name), no temporary file is left, every cache file is whole, and exit code and message tell the truth.
With the rig's llama.cpp when --rig is given, else with a fake engine.
"""

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

import processes

HERE = Path(__file__).resolve().parent
TESTS = HERE.parent
GRACE_SECONDS = 10  # for the engine to go after picchio did; a killed picchio leaves that to the kernel
RUN_SECONDS = 120
PASSES = 3
VERDICT_CODES = {0, 3, 4, 5}
ACTIONS = ["SIGINT to picchio", "SIGTERM to picchio", "SIGKILL to picchio", "SIGKILL to the engine"]


class Broken(Exception):
    """A promise that a round found broken."""


class Bench:
    """The program, an engine and a model, and one folder for each round."""

    def __init__(self, options, work):
        self.picchio = os.path.abspath(options.picchio)
        self.work = work
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith(("LLAMA_", "GGML_"))}
        self.environment["LLAMA_ARG_THREADS"] = "1"  # see run_case.py
        if options.rig:
            rig = os.path.abspath(options.rig)
            self.engine = f"{rig}/bin/llama-completion"
            self.model = f"{rig}/models/Tiny-Q4_K_M.gguf"
            self.environment["VK_DRIVER_FILES"] = f"{rig}/none/none.json"
        else:
            self.engine = str(TESTS / "fakes" / "engine-steady")
            self.model = str(work / "tiny.gguf")
            subprocess.run([sys.executable, TESTS / "rig" / "make_tiny_gguf.py", self.model, "--layers", "2"],
                           check=True)

    def start(self, name):
        folder = self.work / name
        for part in ("home", "tmp", "cache"):
            (folder / part).mkdir(parents=True)
        marker = f"PICCHIO_STORM={uuid.uuid4()}"
        environment = {**self.environment, "HOME": str(folder / "home"), "TMPDIR": str(folder / "tmp"),
                       "XDG_CACHE_HOME": str(folder / "cache"), "PICCHIO_STORM": marker.partition("=")[2]}
        process = subprocess.Popen(
            [self.picchio, self.model, "--bin", self.engine, "--passes", str(PASSES), "--json",
             "--keep-logs", str(folder / "kept")],
            cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)
        return process, marker, folder

    def whole_run(self):
        """Seconds of an undisturbed run; the storm aims inside it."""
        begin = time.monotonic()
        process, marker, _ = self.start("undisturbed")
        out, err = process.communicate(timeout=RUN_SECONDS)
        if process.returncode not in VERDICT_CODES | {7}:
            raise Broken(f"the undisturbed run ended with {process.returncode}: {err.decode(errors='replace')}")
        json.loads(out)
        left = processes.left_after(marker, 1)
        if left:
            raise Broken(f"the undisturbed run left {', '.join(map(processes.describe, left))}")
        return time.monotonic() - begin


def runs(pid, program):
    try:
        return os.path.samefile(f"/proc/{pid}/exe", program)
    except OSError:
        return False


def strike(action, process, marker, picchio):
    """Does it; False: there was nobody to strike at that moment."""
    if action == "SIGKILL to the engine":
        # picchio keeps a process of its own beside the engine, to end it whatever happens.
        engines = [pid for pid in processes.marked(marker) if not runs(pid, picchio)]
        for pid in engines:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        return bool(engines)
    if process.poll() is not None:
        return False
    process.send_signal(getattr(signal, action.partition(" ")[0]))
    return True


def check_finished(out, code):
    """A run that reached its verdict anyway must have measured every pass."""
    try:
        result = json.loads(out)
    except ValueError:
        raise Broken(f"exit code {code}, and stdout is no whole JSON: {out[:200]!r}") from None
    if len(result.get("passes", [])) != PASSES:
        raise Broken(f"exit code {code} with {len(result.get('passes', []))} of {PASSES} passes")


def check_answer(action, struck, code, out, err):
    """Exit code and message against what was done to the run."""
    if not struck or (code in VERDICT_CODES | {7} and "picchio: error:" not in err):
        check_finished(out, code)
        return "too late"
    if action == "SIGKILL to picchio":
        if code != -signal.SIGKILL:
            raise Broken(f"exit code {code} after SIGKILL")
        return "killed"
    if out and code == -getattr(signal, action.partition(" ")[0]):
        check_finished(out, code)  # it had printed its verdict and was on its way out
        return "too late"
    if out:
        raise Broken(f"a run without a verdict wrote to stdout: {out[:200]!r}")
    if action == "SIGKILL to the engine":
        if code != 2 or "picchio: error:" not in err:
            raise Broken(f"exit code {code} after the engine was killed, stderr: {err!r}")
        return "engine lost"
    number = signal.Signals[action.partition(" ")[0]].value
    if code == -number and not err:
        return "ended before it began"  # the signal came before main
    if code != 130 or not ("interrupted" in err or f"signal {number}" in err):
        raise Broken(f"exit code {code} after {action}, stderr: {err!r}")
    return "interrupted"


def check_history(path):
    """Opening rolls back what a kill left half written."""
    with contextlib.closing(sqlite3.connect(path)) as database:
        whole = database.execute("PRAGMA integrity_check").fetchone()[0]
        if whole != "ok":
            raise Broken(f"the history is damaged: {whole}")
    if path.with_name(path.name + "-journal").exists():
        raise Broken("the history keeps a journal")


def check_files(folder):
    left = sorted(os.listdir(folder / "tmp"))
    if left:
        raise Broken(f"left in the temporary folder: {', '.join(left)}")
    for part in ("cache", "kept"):
        for path in sorted((folder / part).rglob("*")):
            if path.suffix == ".json" and path.is_file():
                try:
                    json.loads(path.read_text(encoding="utf-8"))
                except ValueError:
                    raise Broken(f"half a file: {path.relative_to(folder)}") from None
            elif path.name == "history.sqlite3":
                check_history(path)
            elif path.is_file() and part == "cache" and path.name != "history.sqlite3-journal":
                raise Broken(f"no file of the cache: {path.relative_to(folder)}")


def play_round(bench, name, action, delay):
    process, marker, folder = bench.start(name)
    try:
        try:
            out, err = process.communicate(timeout=delay)
            struck = False
        except subprocess.TimeoutExpired:
            struck = strike(action, process, marker, bench.picchio)
            out, err = process.communicate(timeout=RUN_SECONDS)
        left = processes.left_after(marker, GRACE_SECONDS)
        if left:
            raise Broken(f"processes left: {', '.join(map(processes.describe, left))}")
        outcome = check_answer(action, struck, process.returncode, out, err.decode(errors="replace"))
        check_files(folder)
        return outcome
    except subprocess.TimeoutExpired:
        raise Broken(f"picchio still runs after {RUN_SECONDS} s") from None
    finally:
        for pid in processes.marked(marker):
            os.kill(pid, signal.SIGKILL)
        if process.poll() is None:
            process.kill()
            process.wait()


def storm(options, work):
    bench = Bench(options, work)
    seconds = bench.whole_run()
    print(f"seed {options.seed}, an undisturbed run takes {seconds:.2f} s")
    dice = random.Random(options.seed)
    outcomes = {}
    for number in range(options.rounds):
        action = ACTIONS[number % len(ACTIONS)]
        delay = dice.uniform(0.0, seconds)
        name = f"round{number + 1}"
        try:
            outcome = play_round(bench, name, action, delay)
        except Broken as broken:
            raise Broken(f"round {number + 1}, {action} after {delay:.3f} s: {broken}") from None
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
        shutil.rmtree(work / name)
    print(f"{options.rounds} rounds held: " + ", ".join(f"{n} {what}" for what, n in sorted(outcomes.items())))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--picchio", required=True)
    parser.add_argument("--rig", default="")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 30))
    options = parser.parse_args()
    if not os.path.isdir("/proc/self"):
        print("skipped: needs /proc to find processes by their environment")
        return 77
    with tempfile.TemporaryDirectory(prefix="picchio-storm-") as work:
        try:
            storm(options, Path(work))
        except Broken as broken:
            print(f"FAILED (seed {options.seed}): {broken}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
