import pytest

from loadstone.safety.errors import UserError
from loadstone.servers import registry
from loadstone.servers.delay_line import LinkSettings, link_of


def test_a_text_alone_is_the_delay_and_none_is_no_line() -> None:
    assert link_of({"link": "1 ms"}) == LinkSettings.model_validate({"delay": "1 ms"})
    assert [link_of(settings) for settings in ({}, {"link": None}, {"link": "none"}, {"link": ""})] == [None] * 4
    assert link_of({"link": "0 ms"}) is not None, "a line that adds nothing is a line"


def test_what_is_requested_is_what_a_round_trip_takes_more() -> None:
    assert LinkSettings.model_validate({"delay": "1 ms", "one_way": True, "jitter": "100 us"}).requested_ns == 1_000_000
    late = LinkSettings.model_validate({"delay": "1 ms", "jitter": "200 us", "distribution": "exponential"})
    assert late.requested_ns == 1_200_000
    assert LinkSettings.model_validate({"bandwidth": "100 Mbit/s"}).bandwidth == 100_000_000


@pytest.mark.parametrize(
    ("link", "said"),
    [
        ({"delay": 1}, "servers.redis.link.delay: '1' has no unit"),
        ({"delay": "1 m"}, "servers.redis.link.delay: '1 m' is not a time"),
        ({"delay": "1 min"}, "servers.redis.link.delay: '1 min' must be 0 to 10 s"),
        ({"delay": "1 ms", "jitter": "2 ms"}, "jitter: 2 ms is more than the delay of 1 ms"),
        ({"bandwidth": "1 kbit/s"}, "servers.redis.link.bandwidth: '1 kbit/s' must be 10 kbit/s to"),
        ({"dely": "1 ms"}, "servers.redis.link.dely: unknown key; did you mean 'delay'?"),
    ],
)
def test_bad_settings_name_field_value_and_remedy(link: object, said: str) -> None:
    with pytest.raises(UserError) as error:
        registry.make_server("redis", {"kind": "embedded", "link": link})
    assert said in str(error.value)
    assert "\n" not in str(error.value)
