"""What is known of memcached's commands beforehand: what they store, which read, and what a plan may not have."""

from typing import Any

import pytest
from pydantic import ValidationError

from loadstone.drivers.outcome import Counts
from loadstone.experiment.plan.drive_plan import Plan
from loadstone.experiment.plan.operation_units import reads_keys
from loadstone.experiment.plan.stored_bytes import largest_command, of_load, stored_by
from loadstone.run_folder.observation import keys_added

KEY_BYTES = len("loadstone:a:") + 12


def plan_of(*commands: str, **changes: Any) -> Plan:
    written = [{"args": text.split()} for text in commands]
    return Plan.model_validate(
        {
            "protocol": "memcached",
            "endpoints": [{}],
            "model": {"kind": "closed", "users": 2},
            "pool": {"connections": 2},
            "operations": [{"name": "one", "commands": written}],
            "keys": {"prefix": "loadstone:a:", "count": 1000},
            "documents": {"payload_bytes": 100, "field_bytes": 10},
            **changes,
        }
    )


def counts(ok: int) -> Counts:
    return Counts(offered=ok, sent=ok, ok=ok, errors={}, timeouts=0, dropped=0, unsent=0, in_flight=0)


def test_a_value_takes_the_place_of_the_one_before() -> None:
    stored = of_load(plan_of("ms {key} {value} T60"), None)
    assert not stored.grows
    assert 1000 * (KEY_BYTES + 100) < stored_by([plan_of("ms {key} {value} T60")]) < 1000 * 2 * (KEY_BYTES + 150)
    assert stored_by([plan_of("mg {key} v", "md {key}", "mn")]) == 0


def test_the_largest_item_is_its_key_and_its_data() -> None:
    assert largest_command(plan_of("mg {key} v", "ms {key} {value}")) == KEY_BYTES + 100
    assert largest_command(plan_of("mg {key} v")) == 0


def test_reads_and_writes_are_known_and_what_goes_away_by_itself_is_not() -> None:
    assert reads_keys(plan_of("mg {key} v"))
    assert keys_added(plan_of("mg {key} v"), counts(50)) == (0, 0)
    least, most = keys_added(plan_of("ms {key} {value}"), counts(50)) or (0, 0)
    assert 1 <= least <= most == 50
    for text in ("ms {key} {value} T60", "ms {key} {value} MR", "ma {key} v", "md {key}"):
        assert keys_added(plan_of(text), counts(50)) is None, text


@pytest.mark.parametrize(
    ("endpoint", "part"),
    [({"database": 1}, "no database"), ({"slots": [[0, 16383]]}, "only a Redis Cluster has slots")],
)
def test_an_endpoint_has_no_parts_of_redis(endpoint: dict[str, object], part: str) -> None:
    with pytest.raises(ValidationError, match=part):
        plan_of("mg {key} v", endpoints=[endpoint])
