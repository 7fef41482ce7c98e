#!/usr/bin/env python3
"""Drives a living `picchio monitor`: monitor_live.py PICCHIO URL CASE [RIG]. Prints "ok" or says what went wrong."""
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent


def check(condition, text):
    if not condition:
        sys.exit(f"monitor_live.py: {text}")


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def wait_for(condition, what, seconds=60, every=0.02):
    deadline = time.monotonic() + seconds
    while not condition():
        check(time.monotonic() < deadline, f"{what} took too long")
        time.sleep(every)


class Monitor:
    def __init__(self, picchio, url, *words, every="0.2"):
        self.folder = tempfile.TemporaryDirectory(prefix="monitor-")
        self.kept = Path(self.folder.name) / "kept"
        self.process = subprocess.Popen([picchio, "monitor", url, "--every", every, "--keep-logs", self.kept, *words],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    @property
    def log(self):
        return self.kept / "monitor.jsonl"

    def lines(self, log=None):
        path = log or self.log
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def probes(self, end=None):
        return [line for line in self.lines() if line["type"] == "probe" and (end is None or line["end"] == end)]

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=30)
        return self.process.returncode, out, err


def signals(picchio, url):
    for number in (signal.SIGTERM, signal.SIGINT):
        monitor = Monitor(picchio, url)
        wait_for(lambda: len(monitor.probes()) >= 3, "three probes")
        code, out, err = monitor.end(number)
        check(code == 0, f"{number}: code {code}: {out}{err}")
        check("VERDICT: " in out, f"no summary: {out}")
        check(monitor.lines()[-1]["type"] == "summary", "no summary in the log")


def rotate(picchio, url):
    monitor = Monitor(picchio, url)
    wait_for(lambda: len(monitor.probes()) >= 2, "two probes")
    old = monitor.kept / "monitor.jsonl.1"
    monitor.log.rename(old)
    monitor.process.send_signal(signal.SIGHUP)
    wait_for(lambda: len(monitor.probes()) >= 2, "two probes in the new log")
    check(monitor.process.poll() is None, "SIGHUP ended it")
    code, out, err = monitor.end()
    check(code == 0, f"code {code}: {out}{err}")
    numbers = [line["probe"] for log in (old, monitor.log) for line in monitor.lines(log) if line["type"] == "probe"]
    check(numbers == list(range(1, len(numbers) + 1)), f"probes are missing: {numbers}")


def closed_reader(picchio, url):
    process = subprocess.Popen([picchio, "monitor", url, "--every", "0.1"], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    process.stdout.readline()
    process.stdout.close()
    check(process.wait(timeout=30) == 2, f"code {process.returncode}")
    check("error" not in process.stderr.read(), "whoever reads with head is told of an error")


def reload_between_probes(picchio, _url):
    """What the log says while nobody asks counts: a server can load its model anew in the same process."""
    port = free_port()
    logs = HERE / "logs"
    with tempfile.TemporaryDirectory(prefix="monitor-") as folder:
        log = Path(folder) / "server.log"
        log.write_bytes(b"")
        with open(log, "ab") as stderr:
            server = subprocess.Popen([sys.executable, HERE / "stand_in" / "server.py", "--port", str(port),
                                       "--prefill-ms", "10", "--rate", "6000", "--model", "/models/tiny.gguf"],
                                      stdout=subprocess.PIPE, stderr=stderr)
        server.stdout.readline()
        monitor = Monitor(picchio, f"http://127.0.0.1:{port}", every="1")
        try:
            for number, name in ((2, "cuda-full.log"), (4, "llvmpipe-full.log")):
                wait_for(lambda: len(monitor.probes("answered")) >= number, f"probe {number}")
                with open(log, "ab") as file:
                    file.write((logs / name).read_bytes())
            wait_for(lambda: len(monitor.probes("answered")) >= 7, "seven probes")
        finally:
            monitor.end()
            stop(server)
        told = [line["probe"] for line in monitor.lines() if line["type"] == "event" and line["event"] == "reload"]
        check(told == [3, 5], f"reloads told with probes {told}")
        states = [probe["state"] for probe in monitor.probes("answered")]
        check("HEALTHY" not in states[4:], f"the old load speaks for the new one: {states}")


def metrics(picchio, url):
    port = free_port()
    monitor = Monitor(picchio, url, "--metrics", str(port))
    wait_for(lambda: len(monitor.probes()) >= 4, "four probes")
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        text = answer.read().decode()
    code, out, err = monitor.end()
    check(code == 0, f"code {code}: {out}{err}")
    check(f"metrics at http://127.0.0.1:{port}/metrics" in err, err)
    check('picchio_standing{standing="steady"} 1' in text, text)
    check('picchio_tokens_per_second{lane="decode"}' in text and "picchio_build_info" in text, text)


def stand_in(port, *words):
    process = subprocess.Popen([sys.executable, HERE / "stand_in" / "server.py", "--port", str(port), "--prefill-ms", "10",
                                "--rate", "6000", *words], stdout=subprocess.PIPE)
    process.stdout.readline()
    return process


def stop(process):
    process.terminate()
    process.wait(timeout=30)


def goes_and_comes(picchio, _url):
    port = free_port()
    server = stand_in(port)
    monitor = Monitor(picchio, f"http://127.0.0.1:{port}")
    try:
        wait_for(lambda: len(monitor.probes("answered")) >= 6, "six probes")
        stop(server)
        wait_for(lambda: len(monitor.probes("unreachable")) >= 2, "two lost probes")
        before = len(monitor.probes("answered"))
        server = stand_in(port)
        wait_for(lambda: len(monitor.probes("answered")) >= before + 3, "three more probes")
    finally:
        stop(server)
    code, out, err = monitor.end()
    changes = [line["to"] for line in monitor.lines() if line["type"] == "event" and line["event"] == "standing"]
    check(changes.count("lost") in (1, 2), f"lost is told {changes.count('lost')} times: {changes}")
    check("lost" in changes and changes[-1] in ("steady", "lost"), f"{changes}")
    check(code in (0, 2), f"code {code}: {out}{err}")


class RealServer:
    """The rig's llama-server in one situation, its log in a file as a service's would be."""

    def __init__(self, rig, port, log, env, *words):
        self.log = open(log, "wb")
        self.process = subprocess.Popen(
            [f"{rig}/bin/llama-server", "-m", f"{rig}/models/Tiny-Q4_K_M.gguf", "--port", str(port), "-np", "1",
             "-lv", "4", "--no-webui", *words], stdout=subprocess.DEVNULL, stderr=self.log,
            env=os.environ | {"LLAMA_ARG_THREADS": "1"} | env)

        def ready():
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2) as answer:
                    return answer.status == 200
            except OSError:
                return False
        wait_for(ready, "the server's start", 120)

    def stop(self):
        stop(self.process)
        self.log.close()


def restart_onto_llvmpipe(picchio, _url, rig):
    port = free_port()
    # A software renderer takes seconds for a probe: few of those are enough.
    probes = int(os.environ.get("PICCHIO_MONITOR_PROBES", "9"))
    healthy = max(6, probes // 2)
    with tempfile.TemporaryDirectory(prefix="monitor-") as folder:
        server = RealServer(rig, port, f"{folder}/a.log", {"VK_DRIVER_FILES": f"{rig}/none/none.json"})
        monitor = Monitor(picchio, f"http://127.0.0.1:{port}", "--light", "--probes", str(10 * probes))
        try:
            wait_for(lambda: len(monitor.probes("answered")) >= healthy, "the first half", 60 + 3 * probes, 0.2)
            server.stop()
            server = RealServer(rig, port, f"{folder}/b.log",
                                {"VK_DRIVER_FILES": f"{rig}/lvp.json", "GGML_VK_VISIBLE_DEVICES": "0",
                                 "MESA_SHADER_CACHE_DIR": f"{rig}/shader-cache"})
            # A busy machine's probe takes 9 s, and no more than a quarter of the time is spent on probes.
            wait_for(lambda: len(monitor.probes("answered")) >= probes, "the second half",
                     120 + 40 * (probes - healthy), 0.2)
        finally:
            server.stop()
        code, out, err = monitor.end()
    check(code == 4, f"code {code}: {out}{err}")
    lines = monitor.lines()
    answered = [line for line in lines if line["type"] == "probe" and line["end"] == "answered"]
    before = [line for line in answered if line["state"] == "CPU ONLY MACHINE"]
    after = [line for line in answered if line["state"] == "SILENT CPU FALLBACK"]
    check(len(before) >= healthy and len(after) >= 2, f"{[line['state'] for line in answered]}")
    check(len(before) + len(after) == len(answered), f"other states: {[line['state'] for line in answered]}")
    check(answered == before + after, "the first probe after the restart is not told as fallen")
    check(not any("is still loading" in (line.get("why") or "") for line in lines if line.get("end") == "failed"),
          "a server that loads is called failed")
    falls = [line for line in lines if line["type"] == "event" and line["to"] == "fallen" and line["event"] == "standing"]
    check(len(falls) == 1 and falls[0]["probe"] == after[0]["probe"], f"{falls}")
    check("llvmpipe" in falls[0]["sentence"], falls[0]["sentence"])
    check((monitor.kept / f"probe-{falls[0]['probe']:06}").is_dir(), "the run of the fall is not kept")
    print(f"{len(before)} probes before, {len(after)} after; told at probe {falls[0]['probe']}", file=sys.stderr)


def ask(port, tokens):
    body = json.dumps({"prompt": "On the river", "n_predict": tokens, "ignore_eos": True, "cache_prompt": False}).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{port}/completion", body, {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=120) as answer:
        return json.load(answer)["timings"]


def passive(picchio, _url, rig):
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="monitor-") as folder:
        server = RealServer(rig, port, f"{folder}/a.log", {"VK_DRIVER_FILES": f"{rig}/none/none.json"}, "--metrics")
        monitor = Monitor(picchio, f"http://127.0.0.1:{port}", "--passive", "--residency", every="3")
        try:
            wait_for(lambda: len(monitor.probes("idle")) >= 1, "an idle look")
            told = [ask(port, 100) for _ in range(3)]
            wait_for(lambda: len(monitor.probes("answered")) >= 1 and monitor.probes()[-1]["end"] == "idle", "its look")
        finally:
            code, out, err = monitor.end()
            server.stop()
    check(code == 0, f"code {code}: {out}{err}")
    check("VERDICT: CPU ONLY MACHINE" in out, out)
    probes = monitor.probes("answered")
    check(sum(probe["generated_tokens"] for probe in probes) == 300, f"{[p['generated_tokens'] for p in probes]}")
    check(all(probe["state"] == "CPU ONLY MACHINE" for probe in monitor.probes()), "another state")
    own = sorted(timings["predicted_per_second"] for timings in told)
    seen = [probe["tokens_per_second"]["decode"] for probe in probes]
    check(all(rate and 0.9 * own[0] < rate < 1.1 * own[-1] for rate in seen), f"{seen} against {own}")
    summary = monitor.lines()[-1]
    check(summary["cost"]["generated_tokens"] == 0, "it made tokens")
    check(summary["residency"]["weight_bytes"] > 0, f"{summary['residency']}")
    print(f"decode {seen}, the server's own {own}", file=sys.stderr)


def main():
    picchio, url, case = sys.argv[1:4]
    {"signals": signals, "rotate": rotate, "closed-reader": closed_reader, "goes-and-comes": goes_and_comes,
     "restart-onto-llvmpipe": restart_onto_llvmpipe,
     "passive": passive, "metrics": metrics, "reload-between-probes": reload_between_probes}[case](picchio, url, *sys.argv[4:])
    print("ok")


main()
