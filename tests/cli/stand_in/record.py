#!/usr/bin/env python3
"""Records what a real ollama answers, byte for byte, for the readers' tests and for the stand-in to be held against.

usage: record.py http://127.0.0.1:11434 FOLDER --model NAME [--thinker NAME] [--repeater NAME] [--log FILE]
                 [--brief] [--rename OLD=NEW]...

Run it against a server that has just been started and has nothing loaded. NAME is a small model that writes text;
--brief stops after the second run;
--thinker names one whose template has thinking, --repeater one that writes one token again and again. FOLDER gets, for
each request, NAME.http (status line, headers, body without the chunked framing) and, in index.json, the request and
when each line arrived. NAME.log is what the server wrote meanwhile, for the few requests where it tells something, and
start.log what it wrote before. --rename hides this machine's paths.
"""
import argparse
import http.client
import json
import re
import time
import urllib.parse
from pathlib import Path

PARAGRAPH = ("The mill by the river grinds grain in three steps. First the miller carries all the sacks up to the loft, "
             "which takes strength but little time. Then the stones turn without a pause, and every handful of flour "
             "must wait for the one before it. At last the cart goes to town, and the baker counts the hours of the "
             "whole day. Whoever asks how fast the mill works should first say which step is meant.")


def prompt(day, paragraphs=8):
    pages = "".join(f"Page {k}. {PARAGRAPH} " for k in range(1, paragraphs + 1))
    return f"Mill log 7f3a91c2, day {day}. {pages}Now tell the story of the mill again in your own words."


# Whose log lines are kept: a load with its first request, a warm one and the odd ones.
LOGGED = {"generate-cold", "generate-warm", "generate-cached", "generate-truncated"}


def generate(model, day, paragraphs=8, **more):
    options = {"num_predict": 128, "num_ctx": 4096, "seed": 7} | more.pop("options", {})
    return ("POST", "/api/generate",
            {"model": model, "prompt": prompt(day, paragraphs), "raw": True, "options": options} | more)


def requests(model, thinker, repeater, brief):
    """(name, (method, path, body)), in the order in which they only make sense."""
    yield "root", ("GET", "/", None)
    yield "version", ("GET", "/api/version", None)
    yield "tags", ("GET", "/api/tags", None)
    yield "show", ("POST", "/api/show", {"model": model})
    yield "ps-empty", ("GET", "/api/ps", None)
    yield "unload-of-nothing", ("POST", "/api/generate", {"model": model, "keep_alive": 0})
    yield "generate-cold", generate(model, 1)
    yield "ps-loaded", ("GET", "/api/ps", None)
    yield "generate-warm", generate(model, 2)
    if brief:
        return
    yield "generate-cached", generate(model, 2, options={"num_predict": 8})
    yield "generate-not-streamed", generate(model, 3, 1, options={"num_predict": 4}, stream=False)
    yield "generate-stopped", generate(model, 4, 1, options={"stop": ["the"]})
    yield "generate-unknown-option", generate(model, 5, 1, options={"num_predict": 2, "no_such_option": 1})
    # Another window is another load: the same model, cold again without having been asked to unload.
    yield "generate-truncated", generate(model, 6, options={"num_predict": 8, "num_ctx": 256})
    yield "generate-truncate-false", generate(model, 7, truncate=False, options={"num_predict": 8, "num_ctx": 256})
    yield "generate-no-shift", generate(model, 8, shift=False, options={"num_predict": 8, "num_ctx": 256})
    yield "load", ("POST", "/api/generate", {"model": model})
    yield "ps-other-window", ("GET", "/api/ps", None)
    yield "unload", ("POST", "/api/generate", {"model": model, "keep_alive": 0})
    yield "ps-right-after-unload", ("GET", "/api/ps", None)
    yield "error-unknown-model", generate("no-such-model", 9)
    yield "error-show-unknown-model", ("POST", "/api/show", {"model": "no-such-model"})
    yield "error-option-of-wrong-type", generate(model, 10, 1, options={"num_ctx": "large"})
    yield "error-bad-json", ("POST", "/api/generate", b'{"model": ')
    yield "error-empty-body", ("POST", "/api/generate", b"")
    yield "error-raw-with-system", generate(model, 11, 1, system="Be brief.")
    yield "error-thinking-not-supported", generate(model, 12, 1, think=True)
    yield "error-no-such-path", ("GET", "/api/no-such-path", None)
    yield "error-wrong-method", ("GET", "/api/generate", None)
    if thinker:
        yield "thinker-show", ("POST", "/api/show", {"model": thinker})
        yield "thinker-generate", generate(thinker, 1, 1, raw=False, options={"num_predict": 16})
        yield "thinker-generate-raw", generate(thinker, 2, 1, options={"num_predict": 16})
        yield "thinker-think-false", generate(thinker, 3, 1, raw=False, think=False, options={"num_predict": 16})
    if repeater:
        yield "repeater-generate", generate(repeater, 1, 1, options={"temperature": 0, "repeat_penalty": 0.1})


def ask(address, method, path, body, headers=None):
    """The answer's head and body, and the milliseconds from the request to each line's arrival."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode() if body is not None else None
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=600)
    began = time.monotonic()
    fields = (headers or {}) | ({"Content-Type": "application/json"} if data is not None else {})
    connection.request(method, path, data, fields)
    answer = connection.getresponse()
    head = f"HTTP/1.1 {answer.status} {answer.reason}\r\n"
    head += "".join(f"{name}: {value}\r\n" for name, value in answer.getheaders()) + "\r\n"
    lines, at = [], []
    while line := answer.readline():
        lines.append(line)
        at.append(round(1000 * (time.monotonic() - began), 1))
    connection.close()
    return head.encode(), b"".join(lines), at


def write_index(folder, index):
    text = json.dumps(index, indent=1, ensure_ascii=False)
    text = re.sub(r"\[\s+([-\d.,\s]+?)\s+\]", lambda m: "[" + " ".join(m[1].split()) + "]", text)
    (folder / "index.json").write_text(text + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("url", type=urllib.parse.urlsplit)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--model", required=True)
    parser.add_argument("--thinker")
    parser.add_argument("--repeater")
    parser.add_argument("--brief", action="store_true")
    parser.add_argument("--log", type=Path)
    parser.add_argument("--rename", action="append", default=[])
    options = parser.parse_args()
    renames = [(old.encode(), new.encode()) for old, _, new in (r.partition("=") for r in options.rename)]

    def anonymous(data):
        for old, new in renames:
            data = data.replace(old, new)
        return data

    def log_since(offset):
        with open(options.log, "rb") as log:
            log.seek(offset)
            return log.read()

    options.folder.mkdir(parents=True, exist_ok=True)
    index = {}
    if options.log:
        (options.folder / "start.log").write_bytes(anonymous(log_since(0)))
    for name, (method, path, body) in requests(options.model, options.thinker, options.repeater,
                                               options.brief):
        offset = options.log.stat().st_size if options.log else 0
        head, answer, at = ask(options.url, method, path, body)
        (options.folder / f"{name}.http").write_bytes(anonymous(head + answer))
        if options.log and name in LOGGED:
            time.sleep(0.5)  # the runner's last lines come after the answer
            (options.folder / f"{name}.log").write_bytes(anonymous(log_since(offset)))
        shown = body.decode() if isinstance(body, bytes) else body
        if isinstance(shown, dict) and "prompt" in shown:
            shown = shown | {"prompt": shown["prompt"][:40] + "...", "prompt_bytes": len(shown["prompt"])}
        index[name] = {"method": method, "path": path, "body": shown, "lines_arrived_ms": at}
    write_index(options.folder, index)


if __name__ == "__main__":
    main()
