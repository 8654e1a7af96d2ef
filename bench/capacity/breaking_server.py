"""An HTTP service that no model of its CPU describes: a lock, a pool of two, or a timer.

    python -m bench.capacity.breaking_server PORT lock|pool|timer

lock: one request at a time holds it for 2 ms. pool: two at a time hold a connection for 4 ms. timer: each request is
answered 40 ms after it came, as by delayed acknowledgements that meet Nagle's algorithm.
"""

import asyncio
import sys
from contextlib import asynccontextmanager
from typing import Any

REPLY = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
LOCK_S, POOL, POOL_S, TIMER_S = 0.002, 2, 0.004, 0.040


@asynccontextmanager
async def _free() -> Any:
    yield


async def serve(port: int, mode: str) -> None:
    """Until it is killed."""
    held = {"lock": asyncio.Semaphore(1), "pool": asyncio.Semaphore(POOL)}.get(mode)
    held_s = {"lock": LOCK_S, "pool": POOL_S, "timer": TIMER_S}[mode]

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await reader.readuntil(b"\r\n\r\n"):
                async with held or _free():
                    await asyncio.sleep(held_s)
                writer.write(REPLY)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", port, backlog=1024)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), sys.argv[2]))
