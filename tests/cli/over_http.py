#!/usr/bin/env python3
"""`picchio id URL` against a real nginx on loopback that serves a sparse GGUF of many GiB.

usage: over_http.py PICCHIO HEADER.gguf

HEADER.gguf is a file whose data section is longer than its header. It is served as it is and, by a server that
knows no Range requests, as a whole: the first card must be that of the local file for less than twice the
header's bytes on the wire, the second an error before the body is read.
"""
import http.server
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

CONFIG = """
daemon off; master_process off; worker_processes 1; pid {dir}/pid; error_log {dir}/error.log;
events {{ worker_connections 16; }}
http {{
  access_log {dir}/access.log; client_body_temp_path {dir}/b; proxy_temp_path {dir}/p; fastcgi_temp_path {dir}/f;
  uwsgi_temp_path {dir}/u; scgi_temp_path {dir}/s; default_type application/octet-stream;
  log_format bytes '$status $body_bytes_sent'; access_log {dir}/bytes.log bytes;
  server {{ listen 127.0.0.1:{port}; root {dir}/www; }}
}}
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def picchio_id(picchio, *words):
    env = dict(os.environ, http_proxy="http://127.0.0.1:9", https_proxy="http://127.0.0.1:9")  # never for loopback
    return subprocess.run([picchio, "id", "--json", *words], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=60, env=env)


def start_nginx(folder, port):
    (folder / "nginx.conf").write_text(CONFIG.format(dir=folder, port=port))
    server = subprocess.Popen(["nginx", "-c", str(folder / "nginx.conf"), "-e", str(folder / "error.log"), "-p",
                               str(folder)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)
    for _ in range(200):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return server
        if server.poll() is not None:
            break
        time.sleep(0.05)
    sys.exit(f"nginx did not start: {(folder / 'error.log').read_text()[-300:]}")


def check_ranges(picchio, local, folder):
    port = free_port()
    server = start_nginx(folder, port)
    try:
        done = picchio_id(picchio, f"http://127.0.0.1:{port}/model.gguf")
        missing = picchio_id(picchio, f"http://127.0.0.1:{port}/nowhere.gguf")
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()
    if done.returncode != 0:
        sys.exit(f"id over HTTP exited {done.returncode}: {done.stderr}")
    remote = json.loads(done.stdout)["cards"][0]
    for fact, value in local.items():
        if fact not in ("files", "name", "last_kv") and remote[fact] != value:
            sys.exit(f"{fact} differs over HTTP: {remote[fact]} instead of {value}")
    header = remote["files"][0]["header_bytes"]
    rows = [line.split() for line in (folder / "bytes.log").read_text().splitlines()]
    sent = sum(int(size) for status, size in rows if status == "206")
    told = remote["files"][0]["transferred_bytes"]
    print(f"a file of {remote['file_bytes']} bytes, header {header}: {sent} bytes in {len(rows) - 1} answers")
    if told != sent:
        sys.exit(f"picchio says {told} bytes were transferred, nginx sent {sent}")
    if sent >= 2 * header:
        sys.exit("twice the header or more was transferred")
    if missing.returncode != 2 or missing.stdout or "404" not in missing.stderr:
        sys.exit(f"a missing file: exit {missing.returncode}, {missing.stderr}")


class Whole(http.server.SimpleHTTPRequestHandler):
    """Python's own server knows no Range; this one also counts."""
    sent = 0

    def copyfile(self, source, output):
        try:
            while chunk := source.read(65536):
                output.write(chunk)
                Whole.sent += len(chunk)
        except ConnectionError:
            pass  # the client has seen enough

    def log_message(self, *_):
        pass


def check_no_ranges(picchio, www):
    handler = lambda *words: Whole(*words, directory=str(www))  # noqa: E731
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    done = picchio_id(picchio, f"http://127.0.0.1:{server.server_port}/model.gguf")
    server.shutdown()
    if done.returncode != 2 or done.stdout or "Range" not in done.stderr:
        sys.exit(f"a server without Range: exit {done.returncode}, {done.stderr}")
    if Whole.sent > 16 << 20:
        sys.exit(f"{Whole.sent} bytes were read from a server without Range")
    print(done.stderr.strip().splitlines()[0])


def main():
    picchio, model = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        os.chmod(folder, 0o755)
        (folder / "www").mkdir()
        served = folder / "www" / "model.gguf"
        shutil.copy(model, served)
        with open(served, "r+b") as file:
            file.truncate(5 << 30)  # a hole: nothing on the disk, and nothing the header knows of
        done = picchio_id(picchio, str(served))
        if done.returncode != 0:
            sys.exit(f"id of the local file exited {done.returncode}: {done.stderr}")
        check_ranges(picchio, json.loads(done.stdout)["cards"][0], folder)
        check_no_ranges(picchio, folder / "www")


if __name__ == "__main__":
    main()
