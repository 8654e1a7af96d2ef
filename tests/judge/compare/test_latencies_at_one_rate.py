"""Latencies at one rate: the rate is what was set, the verdict names it, and no table has these trials."""

from types import SimpleNamespace
from typing import Any

from tests.changed_facts import with_model
from tests.verdicts import verdict

from loadstone.drivers.outcome import Counts
from loadstone.experiment.plan.drive_plan import Open
from loadstone.experiment.plan.fixed_rate import FixedRate
from loadstone.judge.analysis.fixed_rates import own_load
from loadstone.judge.compare.pair_checks import equal_rate_per_s, offered_rate
from loadstone.judge.compare.pairs import PairBlock
from loadstone.report.verdicts import short_text, verdict_text
from loadstone.run_folder.trial import TrialRecord


def at_rate(synthetic: Any, rate_per_s: float, offered: int, *, slices: int = 2) -> TrialRecord:
    """A trial of a second in the open model, with so many random arrivals."""
    model = Open(rate_per_s=rate_per_s, arrivals="poisson").model_dump(mode="json")
    made = with_model(synthetic.make_trial(), model)
    counts = Counts(offered=offered, sent=offered, ok=offered, errors={}, timeouts=0, dropped=0, in_flight=0)
    return made.model_copy(
        update={
            "duration_s": 1.0,
            "counts": counts,
            "slices": tuple((float(number), number + 0.5) for number in range(slices)),
        }
    )


def test_of_slices_the_rate_that_was_set_counts_since_chance_moves_what_came(synthetic: Any) -> None:
    alike = PairBlock(1, at_rate(synthetic, 5000, 4900), at_rate(synthetic, 5000, 5100))
    assert offered_rate([alike]).verdict == "valid"
    assert equal_rate_per_s([alike]) == 5000
    other = PairBlock(1, at_rate(synthetic, 5000, 5000), at_rate(synthetic, 5100, 5000))
    assert offered_rate([other]).verdict == "invalid"
    assert equal_rate_per_s([other]) is None
    assert equal_rate_per_s([]) is None


def test_the_verdict_names_the_rate() -> None:
    found = verdict("faster", -10.7, -13, -8.3, names=("get", "set")).model_copy(update={"rate_per_s": 27_400.0})
    assert verdict_text(found).endswith("(at 27,400 a second)")
    assert short_text(found).endswith("(at 27,400 a second)")
    assert "a second" not in verdict_text(found.model_copy(update={"rate_per_s": None}))


def test_a_comparison_at_a_rate_of_its_own_stands_in_no_table(synthetic: Any) -> None:
    trials = [synthetic.make_trial().model_copy(update={"group": group}) for group in ("kinds", "users", "at-rate")]
    groups = [SimpleNamespace(name="kinds", fixed_rate=FixedRate()), SimpleNamespace(name="users", fixed_rate=None)]
    run: Any = SimpleNamespace(plan=SimpleNamespace(groups=groups, goals=()))
    assert [trial.group for trial in own_load(run, trials)] == ["users"]
