import pytest

from loadstone.text import units
from loadstone.text.units import UnitKind, kind_of, parse, parse_any, rate_or_share


@pytest.mark.parametrize(
    ("text", "kind", "number"),
    [
        ("10 kB", units.BYTES, 10_000),
        ("10kB", units.BYTES, 10_000),
        (" 100 B ", units.BYTES, 100),
        ("1 KiB", units.BYTES, 1024),
        ("1 MiB", units.BYTES, 1024**2),
        ("1.5 kB", units.BYTES, 1500),
        ("2 GB", units.BYTES, 2 * 10**9),
        ("5 s", units.SECONDS, 5),
        ("250 ms", units.SECONDS, 0.25),
        ("2 min", units.SECONDS, 120),
        ("1 h", units.SECONDS, 3600),
        ("0 s", units.SECONDS, 0),
        ("2 s", units.MILLISECONDS, 2000),
        ("30 us", units.MILLISECONDS, 0.03),
        ("30 \N{MICRO SIGN}s", units.MILLISECONDS, 0.03),
        ("30 \N{GREEK SMALL LETTER MU}s", units.SECONDS, 0.00003),
        ("1 ms", units.MICROSECONDS, 1000),
        ("1000/s", units.PER_SECOND, 1000),
        ("60/min", units.PER_SECOND, 1),
        ("0.5 /s", units.PER_SECOND, 0.5),
        ("5sec", units.SECONDS, 5),
        ("5 minutes", units.DURATION, 300),
        ("1 hour", units.SECONDS, 3600),
        ("10 KB", units.BYTES, 10_000),
        ("10 %", units.SHARE, 0.1),
        ("0.5%", units.SHARE, 0.005),
    ],
)
def test_a_text_with_a_unit_is_a_number(text: str, kind: UnitKind, number: float) -> None:
    assert parse(text, kind) == number
    assert type(parse(text, kind)) is type(number)


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("100", units.BYTES, "'100' has no unit; write for example `100 B`,"),
        ("10 kib", units.BYTES, "'10 kib' is not a size; did you mean `10 KiB`?"),
        ("10 kBs", units.BYTES, "did you mean `10 kB`?"),
        ("0.5 B", units.BYTES, "'0.5 B' is not a whole number of bytes;"),
        ("-1 s", units.SECONDS, "'-1 s' is not a time; write for example `250 ms`, `5 s`, `2 min`"),
        ("1kb", units.BYTES, "'1kb' is not a size; did you mean `1 kB`? write for example"),
        ("5 kb", units.SECONDS, "'5 kb' is not a time; write for example"),
        ("5 sec", units.BYTES, "'5 sec' is not a size; write for example"),
        ("1e3 s", units.SECONDS, "'1e3 s' is not a time;"),
        ("1,000/s", units.PER_SECOND, "'1,000/s' is not a rate; write for example `1000/s`, `60/min`"),
        ("fast", units.PER_SECOND, "'fast' is not a rate;"),
        ("", units.SHARE, "'' is not a share; write for example `10 %`, `0.5 %`"),
        ("٣ s", units.SECONDS, "'٣ s' is not a time;"),
        ("9" * 400 + " s", units.SECONDS, "is not a time;"),
    ],
)
def test_anything_else_is_named_with_examples(text: str, kind: UnitKind, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        parse(text, kind)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("field", "kind"),
    [
        ("payload_bytes", units.BYTES),
        ("measure_s", units.SECONDS),
        ("think_time_ms", units.MILLISECONDS),
        ("spin_us", units.MICROSECONDS),
        ("rate_per_s", units.PER_SECOND),
        ("field_share", units.SHARE),
        ("connections", None),
        ("pipeline_depth", None),
        ("cpus", None),
    ],
)
def test_the_unit_stands_last_in_a_fields_name(field: str, kind: UnitKind | None) -> None:
    assert kind_of(field) is kind


def test_a_text_is_read_with_the_unit_it_has() -> None:
    assert parse_any("1 kB") == parse_any("1000 B")
    assert parse_any("1 s") == parse_any("1000 ms")
    assert parse_any("1 s") != parse_any("1/s")
    assert parse_any("json") is None


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("90s", 90),
        ("20m", 1200),
        ("45 min", 2700),
        ("1h", 3600),
        ("1.5 h", 5400),
        ("700 ms", 0.7),
        (30, 30),
        (0.5, 0.5),
    ],
)
def test_a_duration_is_a_text_or_a_number_of_seconds(value: object, seconds: float) -> None:
    assert units.duration_s(value) == seconds


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("20", "'20' has no unit; write for example `90 s`, `20 min`, `1 h`"),
        ("20 M", "'20 M' is not a time; did you mean `20 m`? write for example `90 s`, `20 min`, `1 h`"),
        ("-5 s", "'-5 s' is not a time; write for example `90 s`, `20 min`, `1 h`"),
        ("0 s", "'0 s' must be more than 0 s and at most 30 days; write for example 45 min"),
        ("721 h", "'721 h' must be more than 0 s and at most 30 days; write for example 45 min"),
        (-1, "'-1' must be more than 0 s and at most 30 days; write for example 45 min"),
        (float("nan"), "'nan' must be more than 0 s and at most 30 days; write for example 45 min"),
        (float("inf"), "'inf' must be more than 0 s and at most 30 days; write for example 45 min"),
        (True, "'true' is not a time; write for example `90 s`, `20 min`, `1 h`"),
        (None, "nothing is not a time; write for example `90 s`, `20 min`, `1 h`"),
        ([5], "a list is not a time; write for example `90 s`, `20 min`, `1 h`"),
    ],
)
def test_what_is_no_duration(value: object, problem: str) -> None:
    with pytest.raises(ValueError) as caught:
        units.duration_s(value)
    assert str(caught.value) == problem


@pytest.mark.parametrize(("value", "share"), [("5 %", 0.05), ("0.5%", 0.005), ("100 %", 1), (0.05, 0.05), (1, 1)])
def test_a_margin_is_a_share(value: object, share: float) -> None:
    assert units.margin_share(value) == share


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (5, "'5' must be more than 0 and at most 100 %; write for example 5 % or 0.05"),
        ("0 %", "'0 %' must be more than 0 and at most 100 %; write for example 5 % or 0.05"),
        (-0.1, "'-0.1' must be more than 0 and at most 100 %; write for example 5 % or 0.05"),
        ("0.05", "'0.05' has no unit; write for example `10 %`, `0.5 %`"),
        ("5 s", "'5 s' is not a share; write for example `10 %`, `0.5 %`"),
        (False, "'false' is not a share; write for example `10 %`, `0.5 %`"),
    ],
)
def test_what_is_no_margin(value: object, problem: str) -> None:
    with pytest.raises(ValueError) as caught:
        units.margin_share(value)
    assert str(caught.value) == problem


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("50 %", (None, 0.5)),
        ("50%", (None, 0.5)),
        ("99.5 %", (None, 0.995)),
        ("5000/s", (5000.0, None)),
        ("60/min", (1.0, None)),
        ("never", (None, None)),
    ],
)
def test_a_fixed_rate_is_a_share_or_a_rate(written: str, read: tuple[float | None, float | None]) -> None:
    assert rate_or_share(written) == read
