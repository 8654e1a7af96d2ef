"""What other programs are called: names that they chose themselves."""

import pytest

from loadstone.machine.process_table import UNNAMED, safe_name


@pytest.mark.parametrize(
    ("chosen", "shown"),
    [
        (b"redis-server", "redis-server"),
        (b"node /home/ann/", "node"),
        (b"Web Content", "Web Content"),
        (b"kworker/0:1", "kworker/0?1"),
        (b"\x1b[31mred", "??31mred"),
        (b"\xff\xfe", UNNAMED),
        (b" /home/ann", UNNAMED),
        (b"", UNNAMED),
    ],
)
def test_a_name_is_plain_and_has_no_path_of_a_user(chosen: bytes, shown: str) -> None:
    assert safe_name(chosen) == shown
