"""A line of MONITOR: its parts, its escapes, and what is none."""

import pytest

from loadstone.software.redis.recording.monitor_line import MonitorLine, read_line


def test_a_command_has_its_time_its_client_and_its_bytes() -> None:
    found = read_line(
        rb'1700000000.123456 [3 127.0.0.1:5000] "SET" "key" "v\x00\n\"\\\a\b\t\r'.replace(b"'", b"") + b'"'
    )
    assert found == MonitorLine(
        1_700_000_000_123_456_000, 3, b"127.0.0.1:5000", (b"SET", b"key", b'v\x00\n"\\\a\b\t\r')
    )


@pytest.mark.parametrize(
    "client", [b"127.0.0.1:5000", b"[::1]:60866", b"unix:/run/my redis.sock", b"lua", b"10.0.0.1:1"]
)
def test_every_kind_of_client_is_known(client: bytes) -> None:
    found = read_line(b"1.5 [0 " + client + b'] "PING"')
    assert found is not None
    assert (found.client, found.at_ns, found.arguments) == (client, 1_500_000_000, (b"PING",))


def test_an_argument_may_be_empty_or_look_like_a_client() -> None:
    found = read_line(rb'1.0 [0 lua] "SET" "" "[0 lua] \"x\" \\"')
    assert found is not None
    assert found.arguments == (b"SET", b"", b'[0 lua] "x" \\')


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"OK",
        b"rubbish",
        b'1700000000 [0 127.0.0.1:1] "GET" "a"',
        b'1.0 [x 127.0.0.1:1] "GET" "a"',
        b'1.0 [0 127.0.0.1:1] "GET" "a',
        b'1.0 [0 127.0.0.1:1] "GET" a',
        b'1.0 [0 127.0.0.1:1] GET "a"',
        b'1.0 [0 127.0.0.1:1] "GET""a"',
        b"1.0 [0 127.0.0.1:1]",
        b'1.0 [0 127.0.0.1:1] "GET" "a\\"',
    ],
)
def test_what_is_no_such_line_is_none(line: bytes) -> None:
    assert read_line(line) is None
