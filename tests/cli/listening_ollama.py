#!/usr/bin/env python3
"""Runs COMMAND... beside what looks like an ollama with a store of its own, to which OLLAMA_HOST points. The exit status is
COMMAND's."""

import http.server
import os
import subprocess
import sys
import threading

ANSWERS = {
    "/": "Ollama is running",
    "/api/version": '{"version":"0.33.0"}',
    "/api/tags": '{"models":[{"name":"tiny:1b","model":"tiny:1b","size":4257219},'
                 '{"name":"gpt:cloud","size":384,"remote_host":"https://ollama.com:443","remote_model":"gpt"},'
                 '{"name":"hf.co/org/repo:Q4_K_M","size":7}]}',
}


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = ANSWERS.get(self.path, "404 page not found").encode()
        self.send_response(200 if self.path in ANSWERS else 404)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    environment = dict(os.environ, OLLAMA_HOST=f"127.0.0.1:{server.server_port}")
    return subprocess.call(sys.argv[1:], env=environment, stdin=subprocess.DEVNULL)


if __name__ == "__main__":
    sys.exit(main())
