"""The program that draws, see `renderer_process.py`: a request a line of JSON on stdin, an answer to each on stdout.

An answer is `+` (a drawing) or `-` (why there is none), a space, its length in seven digits of base 16, and the bytes.
"""

import json
import signal
import sys
from typing import Any

import vl_convert


def answer(request: dict[str, Any]) -> bytes:
    """The drawing that a request is for."""
    if "png" in request:
        return bytes(vl_convert.svg_to_png(request["png"], scale=request["scale"]))
    return str(vl_convert.vegalite_to_svg(request["svg"], vl_version=request.get("vega_lite"))).encode()


def main() -> None:
    """Until stdin ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for who reads the answers
    for line in sys.stdin.buffer:
        try:
            mark, data = b"+", answer(json.loads(line))
        except Exception as error:
            mark, data = b"-", " ".join(str(error).split()).encode(errors="replace")
        sys.stdout.buffer.write(b"%b %07x" % (mark, len(data)) + data)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
