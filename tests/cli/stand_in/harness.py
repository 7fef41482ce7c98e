"""What the tests of the stand-in share: one that runs for the length of a with block, and the recorded answers."""
import http.client
import json
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

import server

HERE = Path(__file__).resolve().parent
CPU = HERE / "recorded" / "ollama-0.33.0-rc2" / "cpu"
LLVMPIPE = CPU.parent / "llvmpipe"
LLAMA_SERVER = HERE / "recorded" / "llama-server-0.7.0-b11669"
PROMPT = "Page one. The mill by the river grinds grain in three steps, and every handful waits for the one before it. "
FAST = ("--prefill-ms", "20", "--rate", "2000", "--load-ms", "20")


class Server:
    """The stand-in for the length of a with block: a process of its own where that matters, else only threads."""

    def __init__(self, kind, *words, fast=True):
        self.words = ("--kind", kind, *(FAST if fast else ()), *words)
        self.process = None

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="stand-in-")
        self.requests = Path(self.folder.name) / "requests"
        words = ["--requests", str(self.requests), *self.words]
        if {"--log", "--runner", "--burn"} & set(words):
            self.process = subprocess.Popen([sys.executable, "-B", HERE / "server.py", *words], stdout=subprocess.PIPE,
                                            text=True)
            self.port = int(self.process.stdout.readline())
        else:
            self.world, self.sockets = server.start(server.arguments(words))
            self.port = self.world.port
        return self

    def __exit__(self, *_):
        if self.process:
            self.process.terminate()
            self.process.wait(30)
            self.process.stdout.close()
        else:
            server.stop(self.world, self.sockets)
        self.folder.cleanup()

    def raw(self, path, body=None, limit=1 << 20, timeout=10, **headers):
        """(status, headers, body) as they came."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
            connection.request("POST" if data is not None else "GET", path, data, headers)
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read(limit)
        finally:
            connection.close()

    def get(self, path):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=10) as answer:
            return json.load(answer)

    def post(self, path, body):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", json.dumps(body).encode(),
                                         {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=20) as answer:
            return json.load(answer)

    def lines(self, path, body):
        return [json.loads(line) for line in self.raw(path, body)[2].splitlines()]

    def events(self, path, body):
        """(name, value) of each server-sent event; comments as (":", text)."""
        out, name = [], None
        for line in self.raw(path, body)[2].decode().split("\n"):
            if line.startswith("event: "):
                name = line[7:]
            elif line.startswith("data: "):
                out.append((name, json.loads(line[6:]) if line[6:] != "[DONE]" else "[DONE]"))
                name = None
            elif line.startswith(":"):
                out.append((":", line))
        return out

    def asked(self):
        return [json.loads(line) for line in self.requests.read_text().splitlines()]


def generate(**more):
    options = {"num_predict": 12, "num_ctx": 4096} | more.pop("options", {})
    return {"model": "tiny", "prompt": PROMPT * 4, "raw": True, "options": options} | more


def recorded(folder, name):
    head, _, body = (folder / f"{name}.http").read_bytes().partition(b"\r\n\r\n")
    return int(head.split()[1]), body


def shape(value):
    """Names and types, with numbers of one kind and an array as its first element."""
    if isinstance(value, dict):
        return {k: shape(v) for k, v in value.items()}
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    return "number" if isinstance(value, (int, float)) and not isinstance(value, bool) else type(value).__name__
