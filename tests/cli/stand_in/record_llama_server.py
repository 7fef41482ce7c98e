#!/usr/bin/env python3
"""Records what a real llama-server answers: while it loads, with a key, with a draft model, as a router.

usage: record_llama_server.py PROGRAM FOLDER --model FILE --small FILE --draft FILE [--rename OLD=NEW]...

PROGRAM is started several times on a port of its own. --model should take a while to load; --small and --draft are two
tiny models of one vocabulary. The files in FOLDER are like those of record.py.
"""
import argparse
import contextlib
import json
import os
import socket
import subprocess
import tempfile
import time
import urllib.parse
from pathlib import Path

from record import ask, write_index

PROMPT = "The mill by the river grinds grain in three steps."


class Recorder:
    def __init__(self, options):
        self.options, self.index = options, {}
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.address = urllib.parse.urlsplit(f"http://127.0.0.1:{probe.getsockname()[1]}")

    @contextlib.contextmanager
    def server(self, *words, ready=True):
        process = subprocess.Popen([self.options.program, "--port", str(self.address.port), "--host", "127.0.0.1",
                                    "--no-webui", *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            while self.health() != 200 if ready else self.health() is None:
                if process.poll() is not None:
                    raise SystemExit(f"it ended at once: {' '.join(words)}")
                time.sleep(0.01)
            yield
        finally:
            process.terminate()
            process.wait()

    def health(self):
        try:
            return int(ask(self.address, "GET", "/health", None)[0].split()[1])
        except OSError:
            return None

    def __call__(self, name, path, body=None, **headers):
        method = "GET" if body is None else "POST"
        head, answer, at = ask(self.address, method, path, body, headers)
        for old, new in (r.split("=", 1) for r in self.options.rename):
            answer = answer.replace(old.encode(), new.encode())
        (self.options.folder / f"{name}.http").write_bytes(head + answer)
        self.index[name] = {"method": method, "path": path, "body": body if isinstance(body, (dict, type(None)))
                            else body.decode(), "lines_arrived_ms": at}
        return answer

    def status(self, model):
        rows = json.loads(ask(self.address, "GET", "/models", None)[1])["data"]
        return next(row["status"]["value"] for row in rows if row["id"] == model)


def one_model(record, options):
    with record.server("-m", options.model, "-c", "2048", "--metrics", "-np", "2", ready=False):
        record("loading-health", "/health")
        record("loading-props", "/props")
        record("loading-completion", "/completion", {"prompt": PROMPT})
        record("loading-root", "/")
        while record.health() != 200:
            time.sleep(0.05)
        for name, path in (("health", "/health"), ("root", "/"), ("props", "/props"), ("slots", "/slots"),
                           ("models", "/v1/models"), ("error-no-such-path", "/no/such/path")):
            record(name, path)
        record("completion-stream", "/completion", {"prompt": PROMPT, "n_predict": 8, "stream": True, "seed": 7,
                                                    "cache_prompt": False, "return_progress": True})
        record("completion-cached", "/completion", {"prompt": PROMPT, "n_predict": 4, "seed": 7})
        record("chat-stream", "/v1/chat/completions", {
            "messages": [{"role": "user", "content": PROMPT}], "max_tokens": 4, "stream": True,
            "stream_options": {"include_usage": True}})
        record("metrics", "/metrics")
        record("slots-after-work", "/slots")
        record("error-bad-json", "/completion", b'{"prompt":')
        record("error-too-long", "/completion", {"prompt": PROMPT * 200, "n_predict": 4})
        record("error-wrong-type", "/completion", {"prompt": PROMPT, "n_predict": "many"})


def with_key(record, options):
    with record.server("-m", options.small, "-c", "512", "--api-key", "sesame"):
        record("key-health", "/health")
        record("key-props", "/props")
        record("key-models", "/v1/models")
        record("key-wrong", "/props", Authorization="Bearer mustard")
        record("metrics-off", "/metrics", Authorization="Bearer sesame")


def with_drafts(record, options):
    with record.server("-m", options.small, "-md", options.draft, "-c", "1024", "--spec-type", "draft-simple"):
        record("draft-completion", "/completion", {"prompt": PROMPT, "n_predict": 16, "temperature": 0,
                                                   "ignore_eos": True})


def as_router(record, options):
    with tempfile.TemporaryDirectory() as folder:
        for file in (options.small, options.draft):
            os.symlink(os.path.abspath(file), os.path.join(folder, os.path.basename(file)))
        options.rename.append(f"{folder}=/models")
        model = Path(options.small).stem
        with record.server("--models-dir", folder, "-c", "1024"):
            record("router-props", "/props")
            record("router-models", "/models")
            record("router-slots", "/slots")
            record("router-unknown", "/completion", {"model": "nowhere", "prompt": PROMPT})
            record("router-load", "/models/load", {"model": model})
            record("router-models-loading", "/models")
            while record.status(model) != "loaded":
                time.sleep(0.02)
            record("router-models-loaded", "/models")
            record("router-props-loaded", f"/props?model={model}")
            record("router-completion", "/completion", {"model": model, "prompt": PROMPT, "n_predict": 4})
            record("router-unload", "/models/unload", {"model": model})
            record("router-models-right-after-unload", "/models")
            while record.status(model) != "unloaded":
                time.sleep(0.02)
            record("router-load-unknown", "/models/load", {"model": "nowhere"})
            ask(record.address, "GET", f"/props?model={model}", None)
            record.index["router-models-loaded"]["asked_for_props_of_an_unloaded_one"] = record.status(model)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("folder", type=Path)
    for name in ("--model", "--small", "--draft"):
        parser.add_argument(name, required=True)
    parser.add_argument("--rename", action="append", default=[])
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    record = Recorder(options)
    for part in (one_model, with_key, with_drafts, as_router):
        part(record, options)
    write_index(options.folder, record.index)


if __name__ == "__main__":
    main()
