"""How many connections a run has open to one address at one time."""

from loadstone.conduct.connections_needed import connections_at_once, connections_to_one
from loadstone.plan.design.run_design import make_run_plan
from loadstone.spec.load_settings import load_experiment


def test_conditions_that_take_turns_have_their_connections_open_together(compared: str) -> None:
    trials = make_run_plan(load_experiment(compared.replace("  rounds: never\n", ""))).trials
    block = [trial for trial in trials if trial.group == "users" and trial.block == 1]
    assert len(block) == 4
    assert connections_at_once(block) == sum(map(connections_to_one, block))
    apart = [trial for trial in make_run_plan(load_experiment(compared)).trials if trial.group == "kinds"]
    assert not any(trial.in_rounds for trial in apart)
    assert connections_at_once(apart) == max(map(connections_to_one, apart))
    assert connections_at_once([]) == 0
