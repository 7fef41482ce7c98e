#!/usr/bin/env python3
"""A real Prometheus scrapes a monitor's metrics, and the alerts of packaging/ fire in it.

usage: alert_fires.py --rules picchio-alerts.yml (--publisher PROGRAM | --picchio PICCHIO --server SERVER)

PROGRAM (publish_probes) stands for the monitor: it is told what it finds. PICCHIO is the real one, and probes the
stand-in SERVER (tests/cli/stand_in/server.py), which falls to a CPU's rates after some probes. The rules are those
that are installed but for their `for:`, which is a second here; scrapes and evaluations come five times a second.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

SKIP = 77
PATIENCE_SECONDS = 30

CONFIG = """
global: {{scrape_interval: 200ms, scrape_timeout: 200ms, evaluation_interval: 200ms}}
rule_files: [rules.yml]
scrape_configs:
  - job_name: picchio
    static_configs: [{{targets: ["{target}"]}}]
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Prometheus:
    def __init__(self, folder, target, rules):
        self.port = free_port()
        self.log = folder / "prometheus.log"
        (folder / "rules.yml").write_text(re.sub(r"\bfor: \d+m\b", "for: 1s", rules))
        (folder / "prometheus.yml").write_text(CONFIG.format(target=target))
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                ["prometheus", f"--config.file={folder / 'prometheus.yml'}",
                 f"--storage.tsdb.path={folder / 'data'}", f"--web.listen-address=127.0.0.1:{self.port}"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def ask(self, path, **query):
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}"
        if query:
            url += "?" + urllib.parse.urlencode(query)
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:
                return json.load(answer)["data"]
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            return None

    def values(self, expression):
        data = self.ask("query", query=expression)
        return None if data is None else [float(row["value"][1]) for row in data["result"]]

    def firing(self):
        data = self.ask("alerts")
        return None if data is None else {a["labels"]["alertname"] for a in data["alerts"] if a["state"] == "firing"}

    def wait_for(self, what, condition):
        end = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < end:
            if self.process.poll() is not None:
                sys.exit(f"prometheus ended: {self.log.read_text()[-1500:]}")
            if condition():
                return
            time.sleep(0.05)
        sys.exit(f"never seen: {what}; firing {self.firing()}, target {self.ask('targets')}")

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def tell(monitor, word):
    monitor.stdin.write(word + "\n")
    monitor.stdin.flush()


def rounds(prometheus):
    """Evaluations of the rules since its start, as Prometheus counts."""
    found = prometheus.ask("rules")
    return None if not found else found["groups"][0]["lastEvaluation"]


def stays_silent(prometheus, allowed):
    """Nothing else fires for ten evaluations, so long that what waits a second had its time."""
    seen = set()
    while len(seen) < 10:
        seen.add(rounds(prometheus))
        fired = (prometheus.firing() or set()) - allowed
        if fired:
            sys.exit(f"a false alarm: {fired}")
        time.sleep(0.05)


def check(prometheus, monitor):
    steady = 'picchio_standing{standing="steady"} == 1'
    tell(monitor, "healthy")
    prometheus.wait_for("a steady server", lambda: prometheus.values(steady) == [1])
    if prometheus.values("picchio_weights_gpu_ratio") != [0.95]:
        sys.exit("the share of the weights is not what was published")
    # Before its first scrape nothing was watched, and in a second that is an alert.
    prometheus.wait_for("silence", lambda: prometheus.firing() == set())
    stays_silent(prometheus, set())

    began = time.monotonic()
    tell(monitor, "fallen")
    prometheus.wait_for("the alert of a fall", lambda: "PicchioFallen" in (prometheus.firing() or set()))
    print(f"PicchioFallen fired {time.monotonic() - began:.1f} s after the fall, of which it waits one")
    stays_silent(prometheus, {"PicchioFallen"})

    tell(monitor, "healthy")
    prometheus.wait_for("its end", lambda: prometheus.firing() == set())

    tell(monitor, "lost")
    prometheus.wait_for("the alert of a lost server", lambda: prometheus.firing() == {"PicchioLost"})
    for gone in ("picchio_tokens_per_second", "picchio_weights_gpu_ratio", "picchio_verdict"):
        if prometheus.values(gone) != []:
            sys.exit(f"'{gone}' stands as current though the server is lost")

    monitor.stdin.close()
    monitor.wait(timeout=10)
    prometheus.wait_for("the alert of a monitor that is gone",
                        lambda: prometheus.firing() == {"PicchioMonitorDown"})


class Fleet:
    """A real monitor beside a server that falls."""

    HEALTHY = 40

    def __init__(self, folder, picchio, server):
        self.port_file = folder / "port"
        self.server = subprocess.Popen(
            [sys.executable, server, "--port-file", self.port_file, "--prefill-ms", "10", "--rate", "4000",
             "--fall-after", str(self.HEALTHY)], stdout=subprocess.DEVNULL)
        end = time.monotonic() + PATIENCE_SECONDS
        while not self.port_file.exists():
            if time.monotonic() > end:
                sys.exit("the stand-in did not start")
            time.sleep(0.02)
        self.monitor = subprocess.Popen(
            [picchio, "monitor", f"http://127.0.0.1:{self.port_file.read_text().strip()}", "--every", "0.3",
             "--metrics", "127.0.0.1:0", "--quiet"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = self.monitor.stderr.readline()
        found = re.search(r"http://(\S+)/metrics", line)
        if not found:
            sys.exit(f"the monitor does not say where its metrics are: {line}")
        self.target = found[1]

    def end(self):
        for process in (self.monitor, self.server):
            if process.poll() is None:
                process.terminate()
        out, _ = self.monitor.communicate(timeout=30)
        self.server.wait(timeout=30)
        return self.monitor.returncode, out


def watch_fleet(options):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        fleet = Fleet(folder, options.picchio, options.server)
        prometheus = None
        try:
            prometheus = Prometheus(folder, fleet.target, options.rules.read_text())
            answered = 'picchio_probes_total{end="answered"}'
            prometheus.wait_for("an answered probe", lambda: (prometheus.values(answered) or [0])[0] >= 5)
            prometheus.wait_for("silence", lambda: prometheus.firing() == set())
            if prometheus.values(answered)[0] >= Fleet.HEALTHY:
                sys.exit("it fell before anybody could see it healthy")
            fell = {"PicchioFallen", "PicchioSlow"}
            prometheus.wait_for("the alert of a fall", lambda: fell & (prometheus.firing() or set()))
            print(f"{sorted(prometheus.firing())} after {prometheus.values(answered)[0]:.0f} probes, "
                  f"of which {Fleet.HEALTHY} were healthy")
        finally:
            if prometheus:
                prometheus.end()
            code, out = fleet.end()
    if code != 4 or "VERDICT: " not in out:
        sys.exit(f"the monitor ended with {code}: {out}")
    return 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rules", type=pathlib.Path, required=True)
    parser.add_argument("--publisher")
    parser.add_argument("--picchio")
    parser.add_argument("--server", type=pathlib.Path)
    options = parser.parse_args()
    if not shutil.which("prometheus"):
        print("skipped: no prometheus here (Debian's package)")
        return SKIP
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        del os.environ[name]
    if options.picchio:
        return watch_fleet(options)
    with tempfile.TemporaryDirectory() as name:
        monitor = subprocess.Popen([options.publisher], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        prometheus = None
        try:
            target = monitor.stdout.readline().strip()
            if not target:
                sys.exit("the publisher did not start")
            prometheus = Prometheus(pathlib.Path(name), target, options.rules.read_text())
            check(prometheus, monitor)
        finally:
            if prometheus:
                prometheus.end()
            if monitor.poll() is None:
                monitor.kill()
                monitor.wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
