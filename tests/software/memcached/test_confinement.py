"""What a memcached of ours is sent without a question."""

import pytest

from loadstone import registry


@pytest.mark.fault("an experiment sends its memcached another command than those on its data", "it asks first")
def test_only_commands_on_data_pass_unasked() -> None:
    reaches_out = registry.room("memcached").reaches_out
    passing = (["mg", "{key}", "v"], ["ms", "{key}", "{value}"], ["mn"], ["STATS", "curr_items"])
    assert not [words for words in passing if reaches_out(words)]
    asking = (["shutdown"], ["watch", "fetchers"], ["lru_crawler", "metadump", "all"], ["{key}"], [""], [])
    injected = (["mg", "{key}\r\nshutdown", "v"], ["mn\nshutdown"])
    assert not [words for words in (*asking, *injected) if not reaches_out(words)]
