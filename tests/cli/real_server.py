#!/usr/bin/env python3
"""Runs a command beside the rig's real llama-server:

    real_server.py [--no-wait] [--signal kill|stop] [--slots-busy N] [SERVER ARGS...] -- COMMAND...

{url} and {port} in COMMAND are the server's; the exit code is the command's. --no-wait begins while the model is
still loading. --signal sends the server SIGKILL or SIGSTOP as soon as it is at work for the command. --slots-busy
has N requests of our own in it meanwhile. The server's output goes to the file server.log, its stderr alone."""
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def answers(url, path):
    try:
        with urllib.request.urlopen(url + path, timeout=2) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, b""
    except OSError:
        return 0, b""


def wait_until(condition, what, seconds=120):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            sys.exit(f"real_server.py: {what} took too long")
        time.sleep(0.02)


def working(url):
    status, body = answers(url, "/slots")
    return status == 200 and any(slot.get("is_processing") for slot in json.loads(body))


def occupy(url):
    body = json.dumps({"prompt": "On", "n_predict": 100000, "ignore_eos": True, "stream": True}).encode()
    request = urllib.request.Request(url + "/completion", body, {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=300) as answer:
            while answer.read(64):
                pass
    except OSError:
        pass


def main():
    words = sys.argv[1:]
    split = words.index("--")
    own, command = words[:split], words[split + 1:]
    wait = "--no-wait" not in own
    own = [word for word in own if word != "--no-wait"]
    after, busy = None, 0
    if "--signal" in own:
        at = own.index("--signal")
        after = {"kill": signal.SIGKILL, "stop": signal.SIGSTOP}[own[at + 1]]
        del own[at:at + 2]
    if "--slots-busy" in own:
        at = own.index("--slots-busy")
        busy = int(own[at + 1])
        del own[at:at + 2]
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with open("server.log", "wb") as log:
        server = subprocess.Popen([os.environ["RIG"] + "/bin/llama-server", "--port", str(port), *own],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log)
    try:
        if wait:
            # A router has no model to load; with a key all but /health is refused.
            wait_until(lambda: answers(url, "/health")[0] == 200 or server.poll() is not None, "loading")
        else:
            wait_until(lambda: answers(url, "/health")[0] != 0 or server.poll() is not None, "listening")
        if server.poll() is not None:
            sys.exit("real_server.py: the server ended:\n" + open("server.log", errors="replace").read()[-2000:])
        for _ in range(busy):
            threading.Thread(target=occupy, args=(url,), daemon=True).start()
        if busy:
            wait_until(lambda: working(url), "the first request")
        child = subprocess.Popen([word.replace("{url}", url).replace("{port}", str(port)) for word in command])
        if after:
            wait_until(lambda: working(url) or child.poll() is not None, "the command's request")
            server.send_signal(after)
        code = child.wait()
        sys.exit(code if code >= 0 else 128 - code)
    finally:
        server.send_signal(signal.SIGCONT)
        server.kill()
        server.wait()


main()
