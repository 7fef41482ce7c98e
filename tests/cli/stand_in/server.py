#!/usr/bin/env python3
"""A stand-in for the servers that picchio asks: right in its protocol, with the load, pace and fault it is told.

    server.py --kind ollama --port-file port --fault stall-mid-stream
    server.py --list                                            every kind and every fault

A fault acts on everything it can; `--fault NAME@PATH` on one path only, `--fault NAME@generate` on the requests that
make tokens. The port is printed and, with --port-file, written to a file that appears when the server listens.
"""
import argparse
import contextlib
import datetime
import json
import mmap
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import exchange as http
import faults
import llama_server
import lm_studio
import ollama
import openai

KINDS = {k.name: k for k in (ollama.Ollama, llama_server.LlamaServer, *lm_studio.KINDS, *openai.KINDS)}
LLVMPIPE = "llvmpipe (LLVM 22.1.8, 256 bits)"
# What turns the recorded log of a software renderer into that of a card: the lines are the same code's.
CUDA = ((LLVMPIPE, "NVIDIA GeForce RTX 4090"), ("Vulkan", "CUDA"), ("libggml-vulkan", "libggml-cuda"),
        ("(unknown id)", "(0000:01:00.0)"), ("library=CUDA compute=0.0", "library=CUDA compute=8.9"))
PARTIAL = (("offloaded 9/9", "offloaded 4/9"),
           ("CPU_Mapped model buffer size =     0.21", "CPU_Mapped model buffer size =     2.33"),
           ("CUDA0 model buffer size =     3.92", "CUDA0 model buffer size =     1.80"))


class World:
    """State that all connections share."""

    def __init__(self, options, log):
        self.options, self.lock, self.stopping = options, threading.Lock(), threading.Event()
        self.last_prompt, self.running, self.sent_of_flood, self.answers = [], 0, 0, 0
        self.requests, self.looks_at_slots, self.random = 0, 0, random.Random(7)
        self.ready_at = time.monotonic() + options.ready_ms / 1000
        self.elsewhere, self.port, self.log_file = "", 0, log
        self.runner, self.burner = None, None

    def twist(self):
        """The next way to spoil a value, or the one that was asked for."""
        if self.options.twist:
            return self.options.twist
        with self.lock:
            self.answers += 1
            return list(faults.TWISTS)[self.answers % len(faults.TWISTS)]

    def wait(self, seconds):
        if self.stopping.wait(seconds):
            raise http.Gone

    def pace(self):
        """Milliseconds for the prompt and tokens a second of the next request."""
        options = self.options
        with self.lock:
            self.requests += 1
            number = self.requests
            noise = [1 + options.jitter / 100 * self.random.uniform(-1, 1) for _ in range(2)]
        fallen = ((options.fall_every and number % options.fall_every == 0) or
                  (options.fall_after and number > options.fall_after))
        slower = 6 if fallen else 1
        if options.decode_falls_after and number > options.decode_falls_after:
            slower = 50
        return options.prefill_ms * (25 if fallen else 1) * noise[0], options.rate / slower * noise[1]

    def sleep_until(self, at_ns):
        left = at_ns - time.monotonic_ns()
        if left > 0:
            self.wait(left / 1e9)

    # ---- the process that computes ----

    def runner_start(self):
        """A child like ollama's runner: the model file and a port in its argv, llama-server's routes on that port."""
        if not self.options.runner:
            return
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        blob = self.options.blob
        command = [sys.executable, os.path.abspath(__file__), "--model", blob, "--port", str(port), "--host",
                   *"127.0.0.1 --no-webui --offline -c 4096 -np 1 --log-verbosity 4 --no-log-prefix".split(),
                   *"--no-log-timestamps --flash-attn auto -b 512 -ub 512 --context-shift --keep 4".split()]
        command += [word for name in self.options.maps for word in ("--maps", name)]
        self.runner = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                       env=os.environ | {"STAND_IN_BURNS": "1"})
        self.runner.stdout.readline()  # its port: it listens

    def runner_stop(self, after_seconds):
        runner, self.runner = self.runner, None
        if runner:
            threading.Timer(after_seconds, end_child, (runner,)).start()

    @contextlib.contextmanager
    def burning(self):
        """While tokens are made the process that would make them is busy, when that was asked for."""
        with self.lock:
            self.running += 1
        worker = self.runner if self.options.runner else self.burner
        self.tell(worker, b"1")
        try:
            yield
        finally:
            self.tell(worker, b"0")
            with self.lock:
                self.running -= 1

    def tell(self, worker, word):
        if worker and self.options.burn:
            with contextlib.suppress(OSError, ValueError):  # it has ended, or is being ended
                worker.stdin.write(word)
                worker.stdin.flush()

    # ---- the log ----

    def log(self, text):
        if self.log_file:
            os.write(2, text.encode())

    def recorded_log(self, name):
        placement = self.options.placement
        folder = ollama.RECORDED / "ollama-0.33.0-rc2" / ("cpu" if placement == "cpu" else "llvmpipe")
        text = (folder / name).read_text(encoding="utf-8")
        changes = {"cuda": CUDA, "partial": CUDA + PARTIAL}
        for old, new in changes.get(placement, ()):
            text = text.replace(old, new)
        if self.options.blob:
            text = re.sub(r"(?<=[ ='])/\S*/blobs/sha256-[0-9a-f]{64}", lambda _: self.options.blob, text)
        return re.sub(r"time=\S+Z", lambda _: f"time={ollama.now()}", text)

    def log_start(self):
        if self.options.kind == "ollama":
            self.log(self.recorded_log("start.log"))

    def log_load(self):
        """A recorded load, up to its first request."""
        if not self.log_file:
            return
        lines = self.recorded_log("generate-cold.log").splitlines(keepends=True)
        end = next(k for k, line in enumerate(lines) if line.startswith("srv  server_strea"))
        lines = lines[:end]
        if self.options.kind != "ollama":
            lines = [line for line in lines if not line.startswith("time=")]
        self.log("".join(lines))

    def log_request(self, work):
        def line(what, ns, count):
            ms = ns / 1e6
            return (f"slot print_timing: id  0 | task 0 | {what} time = {ms:10.2f} ms / {count:5d} tokens "
                    f"({ms / max(1, count):8.2f} ms per token, {1e3 * count / max(ms, 1e-6):8.2f} tokens per second)\n")
        slot = "slot   operator(): id  0 | task 0 | "
        self.log(f"{slot}new prompt, n_ctx_slot = 4096, n_keep = 4, task.n_tokens = {len(work.prompt)}\n"
                 f"{slot}cached n_tokens = {work.cached}, memory_seq_rm [{work.cached}, end)\n"
                 + line("prompt eval", work.prompt_ns, work.evaluated)
                 + line("       eval", work.eval_ns, work.count))


def end_child(child):
    with contextlib.suppress(OSError):
        child.stdin.close()  # what it waits for, besides the signal
    child.terminate()
    child.wait()
    if child.stdout:
        child.stdout.close()


def burn_as_told():
    """Keeps one core busy between a "1" and a "0" on stdin; ends with it."""
    word = b"0"
    while word:
        if word == b"1":
            while not has_input():
                sum(range(2000))
        word = os.read(0, 1)
    os._exit(0)


def has_input():
    import select
    return bool(select.select([0], [], [], 0)[0])


# ---- connections ----

def faults_of(exchange, kind, options):
    chosen = set()
    for name, where in options.scopes:
        if where is None or where == exchange.path or (where == "generate" and exchange.path in kind.generation):
            chosen.add(name)
    return chosen


def note_request(exchange, options, elsewhere):
    if not options.requests:
        return
    body = exchange.json_body() if exchange.body else None
    if body and isinstance(body.get("prompt"), str):
        body["prompt"] = body["prompt"][:60]
    row = {"at": datetime.datetime.now(datetime.timezone.utc).isoformat(), "method": exchange.method,
           "target": exchange.target, "headers": exchange.headers, "body": body, "elsewhere": elsewhere}
    with open(options.requests, "a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")


def allowed(exchange, options):
    key = options.api_key
    return (not key or exchange.headers.get("authorization") == f"Bearer {key}"
            or exchange.headers.get("x-api-key") == key
            or (options.kind == "llama-server" and exchange.path in ("/health", "/v1/health")))


def serve(connection, kind, world, elsewhere):
    options = world.options
    with connection, contextlib.suppress(http.Gone, OSError):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while not world.stopping.is_set():
            exchange = http.Exchange(connection, world)
            if "reset" in options.fault:
                exchange.drop(reset=True)
            exchange.read()
            note_request(exchange, options, elsewhere)
            exchange.head_fields = dict(kind.head_fields)
            exchange.faults = faults_of(exchange, kind, options)
            if not allowed(exchange, options):
                kind.error(exchange, 401, kind.refusals.get("401", "unauthorized"))
            elif not http.spoil(exchange, kind):
                kind.handle(exchange)
            if exchange.headers.get("connection", "").lower() == "close":
                break


def accept(listener, kind, world, elsewhere):
    while not world.stopping.is_set():
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        threading.Thread(target=serve, args=(connection, kind, world, elsewhere), daemon=True).start()


def listen(options, world):
    """(listeners, sockets to keep): the first answers, one more is where redirects lead."""
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    main = socket.socket(family)
    main.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    main.bind((options.host, options.port))
    world.port = main.getsockname()[1]
    if "refuse" in options.fault:
        main.close()
        return [], []
    if "hang-connect" in options.fault:
        main.listen(0)
        fillers = [socket.socket(family) for _ in range(4)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex((options.host, world.port))
        return [], [main, *fillers]
    main.listen(64)
    if "redirect" not in options.fault:
        return [main], []
    other = socket.socket(socket.AF_INET)
    try:
        other.bind(("127.0.0.2", world.port))
        other.listen(16)
        world.elsewhere = f"http://127.0.0.2:{world.port}"
        return [main, other], []
    except OSError:  # a system whose loopback is one address
        world.elsewhere = "http://elsewhere.invalid"
        return [main], []


def arguments(words=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--kind", choices=sorted(KINDS), default="llama-server")
    add("--list", action="store_true", help="print every kind and every fault")
    add("--host", default="127.0.0.1")
    add("--port", type=int, default=0)
    add("--port-file", type=Path)
    add("--prefix", default="", help="a path before every route (llama-server, OpenAI)")
    add("--fault", action="append", default=[], metavar="NAME[@PATH|@generate]")
    add("--twist", choices=sorted(faults.TWISTS), help="the one way of wrong-types; else each answer takes the next")
    add("--model", help="the model's name")
    add("--version", help="the server's version; of ollama it decides what the prompt count is")
    add("--tokens", type=int, help="tokens to make whatever is asked")
    add("--rate", type=float, default=400, help="tokens a second")
    add("--prefill-ms", type=float, default=100, help="for a prompt without a cached part")
    add("--jitter", type=float, default=0, help="percent by which both vary from request to request")
    add("--fall-every", type=int, default=0, metavar="N", help="every Nth request is served as by a CPU")
    add("--fall-after", type=int, default=0, metavar="N", help="so is every request after the Nth")
    add("--decode-falls-after", type=int, default=0, metavar="N", help="tokens come fifty times slower from then on")
    add("--busy-every", type=int, default=0, metavar="N", help="llama-server: every Nth look at /slots shows one at work")
    add("--loaded", action="store_true", help="the model is loaded from the beginning")
    add("--load-ms", type=float, default=100)
    add("--unload-ms", type=float, default=30, help="how long an unloaded model stays in /api/ps")
    add("--ready-ms", type=float, default=1000, help="how long 503-loading-then-ready lasts")
    add("--thinking", action="store_true", help="a model that thinks: all its tokens are thoughts")
    add("--placement", choices=sorted(ollama.PLACED), default="cpu", help="what the log says of the engine's buffers")
    add("--claim", type=float, help="percent of the model that /api/ps calls VRAM; else as the real server would")
    add("--log", type=Path, help="writes the server's log there, as its stderr")
    add("--requests", type=Path, help="notes every request there, a line of JSON each")
    add("--api-key")
    add("--blob", help="path of the model's file on the server")
    add("--runner", action="store_true", help="ollama: has a child with the model in its argv while it is loaded")
    add("--maps", action="append", default=[], metavar="LIBRARY",
        help="what computes has a file of this name mapped, as it would a driver's library")
    add("--burn", action="store_true", help="keeps a core busy while it makes tokens")
    add("--context", type=int, default=4096)
    add("--slots", type=int, default=1)
    add("--busy-slots", type=int, default=0)
    add("--router", action="store_true", help="llama-server without a model of its own")
    add("--drafts", type=int, default=0, help="llama-server: percent of the tokens that were drafted and accepted")
    add("--metrics", action="store_true")
    add("--checks-model", action="store_true", help="404 for a model that is not served")
    options, _ = parser.parse_known_args(words)  # a runner's argv has llama-server's own options
    options.scopes = [(name, where or None) for name, _, where in (f.partition("@") for f in options.fault)]
    options.fault = {name for name, _ in options.scopes}
    unknown = options.fault - faults.ALL.keys()
    if unknown:
        parser.error(f"no fault '{unknown.pop()}'; --list names them")
    return options


def map_library(name):
    """For as long as the process lives."""
    with tempfile.TemporaryDirectory(prefix="stand-in-") as folder:
        path = Path(folder) / name
        path.write_bytes(b"\0" * mmap.PAGESIZE)
        with open(path, "rb") as file:
            return mmap.mmap(file.fileno(), 0, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC)


def start(options):
    # One file in what is shown, in the log and in the runner's arguments, whoever they were recorded of.
    options.blob = options.blob or "/models/blobs/sha256-" + "e8" * 32
    world = World(options, options.log is not None)
    world.mapped = [] if options.runner else [map_library(name) for name in options.maps]
    if options.log:
        os.dup2(os.open(options.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644), 2)
    if options.burn and not options.runner:
        world.burner = subprocess.Popen([sys.executable, os.path.abspath(__file__), "--burn-only"],
                                        stdin=subprocess.PIPE)
    world.log_start()
    kind = KINDS[options.kind](world)
    listeners, kept = listen(options, world)
    for number, listener in enumerate(listeners):
        threading.Thread(target=accept, args=(listener, kind, world, number > 0), daemon=True).start()
    return world, [*listeners, *kept]


def stop(world, sockets):
    world.stopping.set()
    for child in (world.runner, world.burner):
        if child:
            end_child(child)
    for each in sockets:
        with contextlib.suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
        each.close()


def main():
    if sys.argv[1:] == ["--burn-only"]:
        burn_as_told()
    options = arguments()
    if options.list:
        print("kinds:", *sorted(KINDS))
        for name, text in faults.ALL.items():
            print(f"  {name:24} {text}")
        return
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    world, sockets = start(options)
    print(world.port, flush=True)
    if options.port_file:
        beside = options.port_file.with_suffix(".new")
        beside.write_text(f"{world.port}\n")
        beside.rename(options.port_file)
    try:
        if os.environ.get("STAND_IN_BURNS"):
            burn_as_told()
        while not world.stopping.wait(0.2):  # a signal just before a wait without an end would not wake it
            pass
    except KeyboardInterrupt:
        pass
    finally:
        stop(world, sockets)


if __name__ == "__main__":
    main()
