"""Who draws: a thread of its own, which leaves the interpreter to what is written meanwhile."""

from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache

import vl_convert

_NOTHING = '{"data":{"values":[]},"mark":"point"}'


def warm_up() -> None:
    """Start what draws, which takes as long as drawing several pictures; returns at once."""
    _pen().submit(vl_convert.vegalite_to_svg, _NOTHING)


def begin(spec_json: str, vega_lite: str) -> "Future[str]":
    """SVG of a Vega-Lite specification for this version of it, as soon as those that began before are drawn."""
    return _pen().submit(vl_convert.vegalite_to_svg, spec_json, vl_version=vega_lite)


@cache
def _pen() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="drawing")
