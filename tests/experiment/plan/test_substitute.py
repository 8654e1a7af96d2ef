import pytest

from loadstone.experiment.plan.substitute import FieldError, resolve_factors, with_units
from loadstone.experiment.spec.experiment import Factor
from loadstone.experiment.spec.levels import Condition

FACTORS = {
    "payload": Factor(levels=("100 B", "1 kB")),
    "workers": Factor(levels=(1, 8)),
    "sync": Factor(levels=(True, False)),
    "idle": Factor(levels=("few",), values={"few": {"least": 1, "grace": "2 s"}}),
}
CONDITION: Condition = {"payload": "1 kB", "workers": 8, "sync": True, "idle": "few"}


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("${workers}", 8),
        (" ${workers} ", 8),
        ("${sync}", True),
        ("${payload}", "1 kB"),
        ("${idle}", "few"),
        ("${idle.least}", 1),
        ("${idle.grace}", "2 s"),
        ("n=${workers}", "n=8"),
        ("${workers}${workers}", "88"),
        ("sync ${sync}, ${idle.grace}", "sync true, 2 s"),
        ("JSON.SET {key} $ {document}", "JSON.SET {key} $ {document}"),
        ("$.field", "$.field"),
        (5, 5),
        (None, None),
        ({"a": ["${workers}", {"b": "${payload}"}]}, {"a": [8, {"b": "1 kB"}]}),
    ],
)
def test_a_reference_becomes_the_level(written: object, meant: object) -> None:
    found = resolve_factors(written, CONDITION, FACTORS)
    assert found == meant
    assert type(found) is type(meant)


def test_texts_with_a_unit_become_numbers_where_the_name_ends_in_one() -> None:
    written = {
        "phases": {"measure_s": "3 s", "warm_up_s": 1, "measure_max_s": None},
        "documents": {"payload_bytes": "10 kB"},
        "model": {
            "rate_per_s": "1000/s",
            "think_time_ms": "2 s",
            "kind": "open",
            "schedule": [{"duration_s": "1 min"}],
        },
        "name": "5 s",
    }
    assert with_units(written) == {
        "phases": {"measure_s": 3, "warm_up_s": 1, "measure_max_s": None},
        "documents": {"payload_bytes": 10_000},
        "model": {"rate_per_s": 1000, "think_time_ms": 2000, "kind": "open", "schedule": [{"duration_s": 60}]},
        "name": "5 s",
    }


def test_a_wrong_unit_is_found_at_its_path() -> None:
    with pytest.raises(FieldError, match="'3 B' is not a time") as caught:
        with_units({"model": {"schedule": [{"duration_s": 1}, {"duration_s": "3 B"}]}})
    assert caught.value.path == ("model", "schedule", 1, "duration_s")
