"""Histograms that others wrote: what unpacks to a gigabyte is refused before it does."""

import base64
import struct
import tracemalloc
import zlib

import pytest

from loadstone.drivers.histogram import decode
from loadstone.safety.errors import DriveFailed


def test_a_small_text_that_unpacks_to_a_gigabyte_takes_no_gigabyte() -> None:
    packer = zlib.compressobj(1)
    zeros = bytes(16 * 1024 * 1024)
    header = struct.pack(">IIIIQQd", 0x1C849313, 10, 0, 3, 1, 2**40, 1.0)
    packed = b"".join([packer.compress(header), *(packer.compress(zeros) for _ in range(64)), packer.flush()])
    text = base64.b64encode(struct.pack(">II", 0x1C849314, len(packed)) + packed).decode()
    tracemalloc.start()
    try:
        with pytest.raises(DriveFailed, match="unpacks to more than"):
            decode(text)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 100e6
