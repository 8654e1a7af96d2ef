"""A small application that writes all that it is given into its log, as careless ones do, in every form."""

import base64
import html
import json
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import quote


def tell(what: str, text: str) -> None:
    forms = [text, quote(text, safe=""), json.dumps(text), html.escape(text), base64.b64encode(text.encode()).decode()]
    forms += [text.encode().hex(), *text.splitlines()]
    for form in forms:
        sys.stdout.write(f"{what}: {form}\n")
    sys.stdout.flush()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    reported = False

    def do_GET(self) -> None:
        self.answer()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        if not Handler.reported:
            Handler.reported = True
            tell("path", self.path)
            tell("body", body)
            for name, value in self.headers.items():
                tell(name, value)
        self.answer()

    def answer(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_: object) -> None:
        """Say nothing of each request."""


for name, value in os.environ.items():
    tell(name, value)
if "SIDE_FILE" in os.environ:  # for the test, which must know what loadstone made up
    with open(os.environ["SIDE_FILE"], "w") as side:  # noqa: PTH123
        side.write(os.environ["STORE_PASS"])
if os.environ.get("APP_DIES"):
    sys.stdout.write(f"cannot log in with {os.environ['STORE_PASS']} and {os.environ['DB_PASSWORD']}\n")
    sys.stdout.flush()
    raise SystemExit(3)
ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
