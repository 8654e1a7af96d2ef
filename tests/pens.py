"""The program that draws, started once for all commands of the process that has loaded everything (`loaded.py`).

To start it takes a second of a CPU, as long as drawing all pictures of a report. It is run as `pens.py SOCKET`: who
connects there is answered as if it had started the program itself. It ends with its input.
"""

import os
import socket
import subprocess
import sys
import threading

COMMAND = [sys.executable, "-P", "-m", "loadstone.report.charts.renderer_program"]
HEAD_BYTES = 9


class Drawing:
    """The program, which is started when the first picture is to be drawn, and again where it ended."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def answer(self, request: bytes) -> bytes:
        """What it answers. Raises OSError or ValueError where it ended."""
        with self._lock:
            if self._process is None or self._process.poll() is not None:
                pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
                self._process = subprocess.Popen(COMMAND, **pipes)
            writes, reads = self._process.stdin, self._process.stdout
            assert writes is not None
            assert reads is not None
            writes.write(request)
            writes.flush()
            head = reads.read(HEAD_BYTES)
            return head + reads.read(int(head[2:], 16))


def serve(drawing: Drawing, way: socket.socket) -> None:
    """Answer one command, until it ends."""
    with way, way.makefile("rb") as requests:
        for request in requests:
            try:
                way.sendall(drawing.answer(request))
            except (OSError, ValueError):
                return


def accept(listener: socket.socket) -> None:
    """Answer everybody."""
    drawing = Drawing()
    while True:
        way, _ = listener.accept()
        threading.Thread(target=serve, args=(drawing, way), daemon=True).start()


def main() -> None:
    """Until the input ends."""
    listener = socket.socket(fileno=int(sys.argv[1]))
    threading.Thread(target=accept, args=(listener,), daemon=True).start()
    while os.read(0, 1):
        pass
    os._exit(0)


if __name__ == "__main__":
    main()
