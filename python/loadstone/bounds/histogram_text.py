"""Histograms as text, from a driver or a run's folder: read within bounds."""

import base64
import zlib

from hdrh.histogram import HdrHistogram

from loadstone.language import said

_SIGNIFICANT_DIGITS_MAX = 4
"""One more would take 50 MB a histogram, whatever is in it."""
_DIGITS_FIELD = slice(12, 16)
_ENVELOPE_BYTES = 8
_UNPACKED_MAX_BYTES = 16 * 1024 * 1024
"""A histogram of three significant digits has at most 0.3 MB."""
COUNT_MAX = 2**62 - 1
"""More than any load has; sums of these counts stay whole."""


def decoded(encoded: str) -> HdrHistogram:
    """A histogram from its text (HdrHistogram V2, compressed, base64). Raises ValueError if it cannot be read."""
    try:
        unpacked(encoded)
        histogram = HdrHistogram.decode(encoded)
    except Exception as error:
        raise ValueError(
            said("a histogram cannot be read ({name}: {error})", name=type(error).__name__, error=error)
        ) from None
    if not 0 <= histogram.get_total_count() <= COUNT_MAX:
        raise ValueError(said("a histogram cannot be read (its counts are too large)"))
    return histogram


def unpacked(encoded: str) -> bytes:
    """What is packed in the text. Raises ValueError if the histogram takes more memory than one of latencies; the
    library would give it all."""
    packed = base64.b64decode(encoded)[_ENVELOPE_BYTES:]
    data = zlib.decompressobj().decompress(packed, _UNPACKED_MAX_BYTES + 1)
    if len(data) > _UNPACKED_MAX_BYTES:
        raise ValueError(
            said("it unpacks to more than {unpacked_max_bytes} bytes", unpacked_max_bytes=_UNPACKED_MAX_BYTES)
        )
    if int.from_bytes(data[_DIGITS_FIELD]) > _SIGNIFICANT_DIGITS_MAX:
        raise ValueError(
            said(
                "it has more than {significant_digits_max} significant digits",
                significant_digits_max=_SIGNIFICANT_DIGITS_MAX,
            )
        )
    return data
