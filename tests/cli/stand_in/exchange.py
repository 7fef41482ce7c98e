"""One connection of the stand-in: HTTP/1.1 by hand, because the faults are about its bytes."""
import json
import socket
import struct
import time
import urllib.parse

import faults

REASONS = {200: "OK", 307: "Temporary Redirect", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden",
           404: "Not Found", 405: "Method Not Allowed", 422: "Unprocessable Entity", 500: "Internal Server Error",
           501: "Not Implemented", 503: "Service Unavailable"}
MAX_REQUEST = 64 << 20


class Gone(Exception):
    """The client, or this server, has done with the connection."""


class Exchange:
    """A request that was read, and the means to answer it. `world` is the server's state."""

    def __init__(self, connection, world):
        self.connection, self.world = connection, world
        self.faults, self.pace, self.chunked, self.headers_sent = set(), None, False, False
        self.head_fields = {}

    # ---- the request ----

    def read(self):
        data = b""
        while b"\r\n\r\n" not in data:
            data += self._receive()
        head, _, body = data.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        self.method, self.target = lines[0].split(" ")[:2]
        self.path = urllib.parse.unquote(self.target.partition("?")[0])
        self.query = dict(urllib.parse.parse_qsl(self.target.partition("?")[2]))
        self.headers = {k.strip().lower(): v.strip() for k, _, v in (line.partition(":") for line in lines[1:])}
        if self.headers.get("expect", "").lower() == "100-continue":
            self.connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        size = int(self.headers.get("content-length", 0))
        if size > MAX_REQUEST:
            raise Gone
        while len(body) < size:
            body += self._receive()
        self.body = body

    def _receive(self):
        try:
            data = self.connection.recv(65536)
        except OSError:
            raise Gone from None
        if not data:
            raise Gone
        return data

    def json_body(self):
        """The body as an object; None when it is none."""
        try:
            value = json.loads(self.body)
        except ValueError:
            return None
        return value if isinstance(value, dict) else None

    # ---- the answer ----

    def send(self, data):
        try:
            if self.pace is None:
                self.connection.sendall(data)
                return
            for k in range(len(data)):
                self.connection.sendall(data[k:k + 1])
                self.world.wait(self.pace)
        except OSError:
            raise Gone from None

    def head(self, status, content_type, length=None, **fields):
        """`length` None begins a chunked body."""
        lines = [f"HTTP/1.1 {status} {REASONS.get(status, 'Unknown')}"]
        lines += [f"{k}: {v}" for k, v in (self.head_fields | fields).items()]
        lines += [f"Content-Type: {content_type}"] if content_type else []
        lines.append("Transfer-Encoding: chunked" if length is None else f"Content-Length: {length}")
        self.chunked, self.headers_sent = length is None, True
        self.send(("\r\n".join(lines) + "\r\n\r\n").encode("utf-8", "surrogateescape"))

    def answer(self, status, body, content_type="application/json; charset=utf-8", **fields):
        self.head(status, content_type, len(body), **fields)
        self.send(body if self.method != "HEAD" else b"")

    def json(self, status, value, content_type="application/json; charset=utf-8", **fields):
        self.answer(status, self.encode(value), content_type, **fields)

    def encode(self, value):
        return faults.encode(value, self.faults, self.world.twist())

    def chunk(self, data):
        self.send(b"%x\r\n%s\r\n" % (len(data), data) if self.chunked else data)

    def ndjson(self, value):
        self.chunk(self.encode(value) + b"\n")

    def event(self, value, name=None):
        """One server-sent event; `value` is text for the likes of [DONE]."""
        data = value.encode() if isinstance(value, str) else self.encode(value)
        self.chunk((f"event: {name}\n".encode() if name else b"") + b"data: " + data + b"\n\n")

    def end(self):
        if self.chunked:
            self.send(b"0\r\n\r\n")

    def drop(self, reset=False):
        """Ends the connection in the middle of things."""
        try:
            if reset:
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            else:
                self.connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        raise Gone

    def hang(self):
        """Keeps the connection open and says no more, until the client or the server goes."""
        self.connection.settimeout(0.2)
        while not self.world.stopping.is_set():
            try:
                if not self.connection.recv(4096):
                    break
            except socket.timeout:
                continue
            except OSError:
                break
        raise Gone


def flood(exchange, status, content_type, piece, total=None):
    """A body that is as long as the client bears it, or `total` bytes."""
    exchange.head(status, content_type, total)
    sent = 0
    while (total is None or sent < total) and not exchange.world.stopping.is_set():
        part = piece if total is None else piece[:total - sent]
        exchange.chunk(part)
        sent += len(part)
        exchange.world.sent_of_flood = sent


def spoil(exchange, kind):
    """Answers in the way of an `Answer` fault; False when there is none and the kind shall answer."""
    now = time.monotonic()
    for fault in sorted(exchange.faults & faults.ANSWER.keys()):
        if fault == "drip":
            exchange.pace = 1.0
        elif fault == "stall-before-first-byte":
            exchange.hang()
        elif fault == "endless-body":
            exchange.head(200, "application/json")
            exchange.chunk(b'{"models":[')
            exchange.headers_sent = False
            endless(exchange)
            return True
        elif fault == "giant-line":
            flood(exchange, 200, "application/json", b'{"response":"' + b"a" * 65523, 1 << 30)
            return True
        elif fault == "giant-header":
            exchange.send(b"HTTP/1.1 200 OK\r\nX-Long: ")
            for _ in range(1024):
                exchange.send(b"a" * 65536)
            exchange.send(b"\r\nContent-Length: 0\r\n\r\n")
            return True
        elif fault == "not-http":
            exchange.send(b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n")
            exchange.drop()
        elif fault == "empty-body":
            exchange.answer(200, b"")
            return True
        elif fault == "html":
            exchange.answer(200, b"<!DOCTYPE html>\n<html><head><title>Router login</title></head><body>"
                                 b"<script>ollama</script><h1>Welcome</h1></body></html>\n", "text/html")
            return True
        elif fault == "redirect":
            exchange.answer(307, b"", None, Location=exchange.world.elsewhere + exchange.target)
            return True
        elif fault == "503-loading-then-ready":
            if now < exchange.world.ready_at and exchange.path not in kind.always_there:
                kind.error(exchange, 503, "Loading model")
                return True
        elif fault == "503-busy":
            kind.error(exchange, 503, kind.busy)
            return True
        else:
            kind.error(exchange, int(fault), kind.refusals.get(fault, REASONS[int(fault)].lower()))
            return True
    return False


def endless(exchange):
    while not exchange.world.stopping.is_set():
        exchange.chunk(b'{"name":"a:latest","size":1},' * 512)
