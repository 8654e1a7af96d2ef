"""Whether a setting is as it was asked for."""

import pytest

from loadstone.deploy.asked import unlike


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (True, "yes"),
        (False, "OFF"),
        ("no", "0"),
        ("everysec", "everysec"),
        (50000, "50000"),
        ("64mb", "67108864"),
        ("64M", "67108864"),
        ("1g", "1000000000"),
        ('""', ""),
        ("900 1  300 10", "900 1 300 10"),
        ("O_DIRECT", "o_direct"),
    ],
)
def test_one_setting_in_two_spellings(asked: object, told: str) -> None:
    assert unlike({"name": asked}, {"name": told}) == {}


@pytest.mark.parametrize(
    ("asked", "told"), [(True, "no"), ("always", "everysec"), (50000, "10000"), ("64mb", "64000000"), ("", "900 1")]
)
def test_another_setting_is_named_with_what_was_asked(asked: object, told: str) -> None:
    assert unlike({"name": asked}, {"name": told}) == {"name": str(asked)}


def test_names_of_option_files_and_of_the_server_are_the_same() -> None:
    assert unlike({"query-cache-type": False}, {"query_cache_type": "ON"}) == {"query-cache-type": "False"}


def test_a_setting_that_the_server_does_not_tell_is_left_out() -> None:
    assert unlike({"rename-command": "x"}, {}) == {}
