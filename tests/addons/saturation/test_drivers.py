"""A search takes turns, which a client library's program cannot."""

import pytest
from tests.experiment.plan.test_drivers_of_conditions import EXPERIMENT, plan

from loadstone.safety.errors import UserError


def test_a_saturation_is_not_measured_with_a_program() -> None:
    text = EXPERIMENT.replace("\nservers:", "\nsaturation: {vary: {client: [native, go-redis]}}\nservers:")
    with pytest.raises(UserError, match="'go-redis' cannot take turns, and a saturation is measured so"):
        plan(text)
