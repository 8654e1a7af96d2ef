"""Whether a setting is as it was requested, in the spelling of either server."""

import pytest

from loadstone.servers.mariadb import session as mariadb_session
from loadstone.servers.redis import settings as redis_settings
from loadstone.servers.settings_in_force import SettingNotation, differences, mismatched

REDIS, MARIADB = redis_settings.SPELLING, mariadb_session.SPELLING
BOTH = (REDIS, MARIADB)


@pytest.mark.parametrize("spelling", BOTH, ids=["redis", "mariadb"])
@pytest.mark.parametrize(
    ("requested", "reported"),
    [
        (True, "yes"),
        (True, "ON"),
        (False, "OFF"),
        ("no", "0"),
        (1, "ON"),
        ("everysec", "everysec"),
        (50000, "50000"),
        (75, "75.000000"),
        (0.5, "0.500000"),
        (1, "1.000000"),
        (True, "1.000000"),
        (-1, "-1"),
        ("5%", "5%"),
        ('""', ""),
        ("", ""),
        ("900 1  300 10", "900 1 300 10"),
        ("O_DIRECT", "o_direct"),
    ],
)
def test_one_setting_in_two_spellings(spelling: SettingNotation, requested: object, reported: str) -> None:
    assert mismatched({"name": requested}, {"name": reported}, spelling) == {}
    assert differences({"name": requested}, {"name": reported}, spelling) == []


@pytest.mark.parametrize("spelling", BOTH, ids=["redis", "mariadb"])
@pytest.mark.parametrize(
    ("requested", "reported"),
    [
        ("always", "everysec"),
        (50000, "10000"),
        ("50000", "10000"),
        (75, "75.500000"),
        (1, "10"),
        ("5%", "5"),
        ("5x", "5"),
    ],
)
def test_another_setting_is_named_with_what_was_requested(
    spelling: SettingNotation, requested: object, reported: str
) -> None:
    assert mismatched({"name": requested}, {"name": reported}, spelling) == {"name": str(requested)}
    assert [*map(str, differences({"name": requested}, {"name": reported}, spelling))] == [
        f"name is {reported}, not {requested} as requested"
    ]


@pytest.mark.parametrize(
    ("requested", "reported", "spelling"),
    [
        ("64mb", "67108864", REDIS),
        ("64MB", "67108864", REDIS),
        ("64m", "64000000", REDIS),
        ("1g", "1000000000", REDIS),
        ("100b", "100", REDIS),
        ("64M", "67108864", MARIADB),
        ("1g", "1073741824", MARIADB),
        ("2K", "2048", MARIADB),
    ],
)
def test_a_size_is_what_the_server_takes_it_for(requested: str, reported: str, spelling: SettingNotation) -> None:
    assert mismatched({"name": requested}, {"name": reported}, spelling) == {}


@pytest.mark.parametrize(
    ("requested", "reported", "spelling"),
    [("64mb", "64000000", REDIS), ("1g", "1073741824", REDIS), ("1g", "1000000000", MARIADB)],
)
def test_a_size_of_another_server_s_is_another_size(requested: str, reported: str, spelling: SettingNotation) -> None:
    assert mismatched({"name": requested}, {"name": reported}, spelling) == {"name": requested}


def test_what_was_requested_is_reported_as_the_server_writes_it() -> None:
    assert mismatched({"appendonly": True}, {"appendonly": "no"}, REDIS) == {"appendonly": "yes"}
    assert mismatched({"save": ""}, {"save": "900 1"}, REDIS) == {"save": '""'}
    assert [*map(str, differences({"log_bin": True}, {"log_bin": "OFF"}, MARIADB))] == [
        "log_bin is OFF, not ON as requested"
    ]


def test_names_of_option_files_and_of_the_server_are_the_same() -> None:
    assert mismatched({"query-cache-type": False}, {"query_cache_type": "ON"}, MARIADB) == {"query-cache-type": "OFF"}
    assert mismatched({"MaxClients": 50}, {"maxclients": "40"}, REDIS) == {"MaxClients": "50"}


@pytest.mark.parametrize("spelling", BOTH, ids=["redis", "mariadb"])
def test_a_setting_that_the_server_does_not_tell_is_left_out(spelling: SettingNotation) -> None:
    assert mismatched({"rename-command": "x"}, {}, spelling) == {}
