"""What an experiment may write under `servers`, and the error otherwise."""

import pytest

from loadstone.monitors.metric import PROGRAM
from loadstone.monitors.watch import MonitorTargets
from loadstone.safety.errors import UserError
from loadstone.servers import registry


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "servers.redis.kind: is missing; known kinds: embedded, process, "),
        ({"kind": "embeded"}, "servers.redis.kind: 'embeded' is not known; did you mean 'embedded'? known kinds: "),
        ({"kind": "embedded", "modules": ["jsn"]}, "servers.redis.modules.0: 'jsn' is not known; did you mean 'json'?"),
        ({"kind": "embedded", "settings": {"port": 1}}, "servers.redis.settings: 'port' is decided by loadstone"),
        ({"kind": "url"}, "servers.redis.url: is missing"),
        ({"kind": "url", "url": "http://h"}, "servers.redis.url: 'http://h': begins with none of redis://"),
    ],
)
def test_a_wrong_server_is_named_in_one_line(settings: dict[str, object], words: str) -> None:
    with pytest.raises(UserError) as refused:
        registry.make_server("redis", settings)
    assert str(refused.value).startswith(words)
    assert "\n" not in str(refused.value)


def test_the_schema_knows_every_kind() -> None:
    schema = registry.server_union().json_schema()
    assert set(schema["discriminator"]["mapping"]) == set(registry.SERVERS)


def test_every_metric_has_a_unit() -> None:
    for monitor in registry.monitors(MonitorTargets(cpus=(0,))):
        names = [sample.metric for sample in monitor.sample(0.0)]
        assert names
        assert {name for name in names if not name.startswith(PROGRAM)} <= set(monitor.METRICS)
