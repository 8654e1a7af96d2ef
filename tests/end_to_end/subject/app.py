"""A small application that keeps items in Redis, and misbehaves where APP_BEHAVIOUR says so."""

import json
import os
import socketserver
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import redis

BEHAVIOUR = os.environ.get("APP_BEHAVIOUR", "right")
LIVES = 12
"""Requests after which the one that dies is dead: so few that a slow machine comes to them, too."""
store = redis.Redis(
    host=os.environ["REDIS_HOST"], port=int(os.environ["REDIS_PORT"]), password=os.environ["REDIS_PASS"]
)
requested, lock = [0], threading.Lock()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self.answer(503 if BEHAVIOUR == "unready" else 200, {"ready": True})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with lock:
            requested[0] += 1
        if BEHAVIOUR == "dies" and requested[0] > LIVES:
            sys.stderr.write("out of luck\n")
            sys.stderr.flush()
            os._exit(7)
        if BEHAVIOUR == "garbage":
            self.wfile.write(b"+PONG\r\n")
            return
        if BEHAVIOUR == "failing":
            self.answer(500, {"error": "out of order"})
            return
        if BEHAVIOUR != "forgets" or requested[0] % 2:
            store.rpush("loadstone:app:items", body)
        self.answer(201, {"stored": True})

    def answer(self, status: int, content: object) -> None:
        text = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: object) -> None:
        """Say nothing of each request."""


def burn() -> None:
    """Work of its own, load or not."""
    while True:
        sum(range(10_000))


if BEHAVIOUR == "burns":
    threading.Thread(target=burn, daemon=True).start()
socketserver.TCPServer.request_queue_size = 128
ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
