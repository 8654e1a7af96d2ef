"""What the rules of the house list of add-ons is there."""

from tests.experiment.plan.test_protocols import MENTIONS
from tests.safety.test_terminal import PROGRAMS, WRITERS
from tests.test_architecture import BETWEEN_ADD_ONS, DASK_USERS, ENGINE_USERS, GOALS, NAMES, PACKAGE, READ_CAUSES


def test_each_module_that_a_rule_names_is_there() -> None:
    assert DASK_USERS | ENGINE_USERS | GOALS | READ_CAUSES <= NAMES
    assert [name for name in {*MENTIONS} | WRITERS | PROGRAMS if not (PACKAGE / name).exists()] == []
    assert {f"addons.{one}" for pair in BETWEEN_ADD_ONS for one in pair} <= NAMES
