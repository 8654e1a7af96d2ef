"""What a memcached of ours is sent without a question, and what one of the user's is sent at all."""

import pytest

from loadstone.servers import registry
from loadstone.servers.control import CommandRefusal


@pytest.mark.fault(
    "an experiment sends its memcached another command than those on its data", "it asks first", area="foreign"
)
def test_only_commands_on_data_pass_unasked() -> None:
    reaches_out = registry.room("memcached").reaches_out
    passing = (["mg", "{key}", "v"], ["ms", "{key}", "{value}"], ["mn"], ["STATS", "curr_items"])
    assert not [words for words in passing if reaches_out(words)]
    asking = (["shutdown"], ["watch", "fetchers"], ["lru_crawler", "metadump", "all"], ["{key}"], [""], [])
    injected = (["mg", "{key}\r\nshutdown", "v"], ["mn\nshutdown"])
    assert not [words for words in (*asking, *injected) if not reaches_out(words)]


@pytest.mark.parametrize("flag", ["q", "b", "Zx", "{value}"])
def test_a_flag_that_is_not_known_to_act_on_its_key_alone_is_refused(flag: str) -> None:
    confinement = registry.room("memcached").confinement
    confinement.command(["mg", "{key}", "v", "N30", "O1"], "loadstone:x:")
    confinement.command(["ms", "{key}", "{value}", "T600", "MS"], "loadstone:x:")
    with pytest.raises(CommandRefusal, match="flag"):
        confinement.command(["mg", "{key}", "v", flag], "loadstone:x:")
