#!/usr/bin/env python3
"""A Redis behind a relay that changes one reply in 10,000, where it is a text: started as a redis-server is."""

import asyncio
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from loadstone.servers.redis.packages import need_server

EVERY = 10_000


async def relay(config: str) -> None:
    port = int(re.search(r"^port (\d+)$", config, re.MULTILINE)[1])  # type: ignore[index]
    folder = tempfile.mkdtemp()
    hidden = port + 1 if port < 65_535 else port - 1
    behind = Path(folder) / "redis.conf"
    behind.write_text(re.sub(r"^port .*$", f"port {hidden}", config, flags=re.MULTILINE))
    server = subprocess.Popen([need_server(), behind])
    replies = 0

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, changes: bool) -> None:
        nonlocal replies
        while block := await reader.read(1 << 16):
            if changes:
                before, replies = replies, replies + block.count(b"$")
                if before // EVERY != replies // EVERY and b"vvvv" in block:
                    block = block.replace(b"vvvv", b"vvvw", 1)
            writer.write(block)
            await writer.drain()
        writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(200):
            try:
                of_server = await asyncio.open_connection("127.0.0.1", hidden)
                break
            except OSError:
                await asyncio.sleep(0.05)
        await asyncio.gather(pump(reader, of_server[1], changes=False), pump(of_server[0], writer, changes=True))

    try:
        async with await asyncio.start_server(serve, "127.0.0.1", port, limit=1 << 24):
            while server.poll() is None:
                await asyncio.sleep(0.1)
    finally:
        server.kill()
        shutil.rmtree(folder)


if __name__ == "__main__":
    if "--version" in sys.argv:
        sys.exit(subprocess.call([need_server(), "--version"]))
    asyncio.run(relay(Path(sys.argv[1]).read_text()))
