"""Counts and rates are written in one notation, whatever option takes them."""

import pytest

from loadstone.addons.capacity.command import read_users
from loadstone.cli.load import rate_per_s
from loadstone.cli.options import amount, positive, whole
from loadstone.safety.errors import UserError


@pytest.mark.parametrize(
    ("text", "number"),
    [("5000", 5000), ("20k", 20_000), ("100K", 100_000), ("1.5M", 1_500_000), ("1e6", 10**6), (" 2 G", 2 * 10**9)],
)
def test_every_option_reads_it(text: str, number: int) -> None:
    assert amount(text) == whole("", 1)("-n", text) == positive("", 1e12)("--exponent", text) == number
    if number <= 10**9:
        assert rate_per_s("--rate", text) == rate_per_s("--rate", f"{text.strip()}/s") == number


def test_a_seed_keeps_all_of_its_digits() -> None:
    assert whole("", 0)("--seed", "18446744073709551615") == 2**64 - 1


@pytest.mark.parametrize("text", ["", "k", "1x", "1 kB", "nan", "inf", "1e999", "1.5", "0.5k1", "-1k", "1.0005k"])
def test_no_other_text_is_a_count(text: str) -> None:
    with pytest.raises(UserError, match=r"^-n .*: not a number of requests; write a number from 1 to 1000$"):
        whole("not a number of requests", 1, 1000)("-n", text)


def test_a_default_stays_as_it_is() -> None:
    assert whole("", 1)("--newest", 100) == 100  # type: ignore[arg-type]


def test_users_are_counted_as_requests_are() -> None:
    assert read_users("--users", "500..2k").numbers == (500, 1000, 2000)
    assert read_users("--users", "1k,2").numbers == (2, 1000)
