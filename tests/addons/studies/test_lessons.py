"""What went wrong then, and what a run shows of it."""

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import pytest

from loadstone.addons.studies.answers import LessonAnswer
from loadstone.addons.studies.lessons import StudyEvidence, evaluate_lessons
from loadstone.judge.analysis.analyse import summarise_checks
from loadstone.judge.analysis.analysis import Bottleneck, ResultTable, Row
from loadstone.judge.analysis.comparisons import compare_groups
from loadstone.judge.checks.checks import judge_trial
from loadstone.run_folder.facts import AvgMax
from loadstone.run_folder.trial import CheckResult, TrialRecord
from loadstone.text.message import verbatim
from loadstone.text.sentences import render_message
from tests import changed_facts

USUAL = {"operation": "set", "payload": "1 kB", "workers": 32, "idle": "few"}
Learned = Callable[..., LessonAnswer]


@pytest.fixture(scope="module")
def clean(synthetic: ModuleType) -> TrialRecord:
    return judge_trial(synthetic.make_trial())


@pytest.fixture
def learned(synthetic: ModuleType) -> Learned:
    def answer(
        kind: str, trials: Sequence[TrialRecord] = (), name: str = "", rows: Sequence[Row] = (), families: Any = ()
    ) -> LessonAnswer:
        lesson = {"then": "It went\n wrong.", "kind": kind, "name": name}
        table = ResultTable(name="t", title="", note="", vary={}, rows=list(rows))
        experiment = synthetic.make_experiment(lessons=[lesson])
        (found,) = evaluate_lessons(StudyEvidence(experiment, trials, [table], families, summarise_checks(trials)))
        assert found.then == "It went wrong."
        return found

    return answer


def trial_of(clean: TrialRecord, number: int, rate: float = 200.0, **levels: Any) -> TrialRecord:
    rates = {"goodput_per_s": rate, "throughput_per_s": rate}
    named = {"trial": f"b{number:02d}-001", "block": number, "condition": USUAL | levels}
    return clean.model_copy(update=rates | named)


def with_facts(trial: TrialRecord, **facts: Any) -> TrialRecord:
    return judge_trial(changed_facts.with_facts(trial, **facts))


def test_a_check_that_failed_caught_it(learned: Learned, clean: TrialRecord) -> None:
    host = clean.facts.host.model_dump()
    stolen = with_facts(trial_of(clean, 2), host=host | {"steal_share": 0.3})
    found = learned("check", [trial_of(clean, 1), stolen], name="taken")
    assert (found.verdict, render_message(found.now)) == (
        "caught",
        "`taken` is valid in 1 trial, suspect in 1; the worst figure is 153 %, limit 10 % (b02-001).",
    )
    assert learned("check", [clean], name="taken").verdict == "did_not_happen"
    assert learned("check", [clean], name="samples").verdict == "unknown"
    assert learned("check", [clean], name="no-such-check").verdict == "unknown"


def test_information_beyond_its_limit_caught_it_too(learned: Learned, clean: TrialRecord) -> None:
    held = {
        "app": {
            "replicas": 1,
            "ours": True,
            "limits": {"cpu": {"status": "in_force", "value": 1.0}},
            "throttled_s": 4.0,
        }
    }
    assert learned("check", [with_facts(clean, subjects=held)], name="subject_throttled").verdict == "caught"
    free = {"app": held["app"] | {"throttled_s": 0.0}}
    assert learned("check", [with_facts(clean, subjects=free)], name="subject_throttled").verdict == "did_not_happen"


@pytest.mark.parametrize(("ratio", "verdict"), [(1.0, "caught"), (1.2, "did_not_happen")])
def test_a_comparison_tells_noise_from_a_difference(
    learned: Learned, studies: ModuleType, synthetic: ModuleType, ratio: float, verdict: str
) -> None:
    ratios = [(studies.condition(), 1.0), (studies.condition(operation="get"), ratio)]
    run = studies.Study(synthetic, ratios).run()
    families = compare_groups(run, run.trials)
    found = learned("comparison", name="kinds", families=families)
    assert found.verdict == verdict
    assert render_message(found.now) == render_message(families[0].answer)
    assert learned("comparison", name="another", families=families).verdict == "unknown"


@pytest.mark.parametrize(
    ("kinds", "verdict"),
    [
        ({"invalid"}, "unknown"),
        ({"undecided"}, "unknown"),
        ({"not_decidable", "faster"}, "unknown"),
        ({"invalid", "equivalent"}, "caught"),
        ({"mixed"}, "caught"),
    ],
)
def test_a_comparison_without_a_verdict_caught_nothing(
    learned: Learned, studies: ModuleType, synthetic: ModuleType, kinds: set[str], verdict: str
) -> None:
    ratios = [(studies.condition(), 1.0), (studies.condition(operation="get"), 1.2)]
    run = studies.Study(synthetic, ratios).run()
    family = compare_groups(run, run.trials)[0]
    (pair,) = family.comparisons
    judged = [pair.model_copy(update={"primary": pair.primary.model_copy(update={"kind": kind})}) for kind in kinds]
    assert learned(
        "comparison", name="kinds", families=[family.model_copy(update={"comparisons": judged})]
    ).verdict == (verdict)


def test_every_store_held_the_same_rows(synthetic: ModuleType, clean: TrialRecord) -> None:
    columns = {"id": "{number}"}
    into = [
        {"server": "redis", "commands": ["SET loadstone:{id} x"]},
        {"server": "other", "when": {"operation": "get"}},
    ]
    posts = {"rows": 390_000, "columns": columns, "into": into}
    lessons = [{"then": "Different data.", "kind": "data"}]
    experiment = synthetic.make_experiment(lessons=lessons, data={"posts": posts})

    def found(*trials: TrialRecord, of: Any = experiment) -> LessonAnswer:
        return evaluate_lessons(StudyEvidence(of, trials, [], [], [], scale=0.1))[0]

    both = found(trial_of(clean, 1), trial_of(clean, 1, operation="get"))
    assert (both.verdict, render_message(both.now)) == (
        "did_not_happen",
        "Every store held the same 39,000 rows of posts (other, redis), written before its first trial.",
    )
    assert "(redis)" in render_message(found(trial_of(clean, 1)).now)
    assert found().verdict == "unknown"
    varied = synthetic.make_experiment(lessons=lessons, data={"posts": posts | {"rows": "${workers}"}})
    assert found(trial_of(clean, 1), of=varied).verdict == "unknown"


def test_a_comparison_of_too_few_blocks_tells_nothing(
    learned: Learned, studies: ModuleType, synthetic: ModuleType
) -> None:
    ratios = [(studies.condition(), 1.0), (studies.condition(operation="get"), 1.3)]
    run = studies.Study(synthetic, ratios, blocks=2).run()
    assert learned("comparison", name="kinds", families=compare_groups(run, run.trials)).verdict == "unknown"


def test_failures_are_kept_apart_from_the_rate(learned: Learned, clean: TrialRecord) -> None:
    counts = clean.counts.model_copy(update={"errors": {"status_5xx": 20}, "timeouts": 6, "sent": 1000, "ok": 974})
    failing = trial_of(clean, 1, workers=1).model_copy(update={"counts": counts, "throughput_per_s": 270.0})
    found = learned("errors", [trial_of(clean, 1), failing.model_copy(update={"verdict": "invalid"})])
    assert found.verdict == "caught"
    assert render_message(found.now) == (
        "Operations failed in 1 of 2 conditions, most at set, 1 kB, 1 worker: 2.60 %. Counted too, "
        "they would make 270 operations a second of 200 correct replies (35.0 % more); only correct replies rank."
    )
    assert learned("errors", [clean]).verdict == "did_not_happen"
    assert learned("errors").verdict == "unknown"
    assert learned("errors", [failing.model_copy(update={"block": 0})]).verdict == "unknown", (
        "what warms up is not used"
    )


def row(part: str, cpu: float | None = None, **levels: Any) -> Row:
    figures = {"used_memory": AvgMax(avg=1e6, max=1e6)}
    if cpu is not None:
        figures["cpu_share"] = AvgMax(avg=cpu, max=cpu)
    condition = USUAL | levels
    return Row(
        condition=condition, label=str(condition["workers"]), trials=["b01-001"], verdict="valid", reasons=[],
        operations=1, elapsed_s=1.0, throughput_per_s=1.0, goodput_per_s=1.0, peak_per_s=1.0, response_ns=None,
        service_ns=None, pool_wait_ns=None, errors={}, cpu_share={}, published=None, unmeasurable={},
        bottleneck=Bottleneck(part=part, message=verbatim(""), evidence={}), seen={"redis": figures},
        kinds={"redis": "redis"},
    )  # fmt: skip


def with_users(clean: TrialRecord, users: int) -> TrialRecord:
    model = changed_facts.written(clean)["plan"]["model"] | {"users": users}
    return changed_facts.with_model(trial_of(clean, 1, workers=users), model)


def test_the_application_and_not_the_store_is_the_limit(learned: Learned, clean: TrialRecord) -> None:
    rows = [row("subject", 0.09, workers=1), row("subject", 0.07, workers=32), row("latency", 0.06, operation="get")]
    trials = [with_users(clean, users) for users in (1, 32)]
    found = learned("held_back", trials, rows=rows)
    assert found.verdict == "did_not_happen", "it is examined and answered"
    assert render_message(found.now) == (
        "Bottleneck of 3 conditions: the application in 2, nothing but the round trips in 1. As users grow the "
        "store's CPU falls, from 9 % of a core at 1 worker to 7 % at 32 workers (32): the store is not the bottleneck."
    )
    rising = [row("subject", 0.05, workers=1), row("subject", 0.07, workers=32)]
    assert "falls" not in str(learned("held_back", trials, rows=rising).now)
    assert learned("held_back", trials, rows=[row("server", 0.9)]).verdict == "did_not_happen"
    assert learned("held_back", trials, rows=[row("unknown")]).verdict == "unknown"
    without = row("server", 0.9, operation="get").model_copy(update={"bottleneck": None})
    partly = learned("held_back", trials, rows=[row("server", 0.9), without])
    assert (partly.verdict, render_message(partly.now)) == (
        "unknown", "Bottleneck of 1 condition: the store in 1. 1 more gave no figure.",
    )  # fmt: skip
    assert learned("held_back").verdict == "unknown"


def counted(before: int, after: int | None, answered: int, **keys: int) -> list[dict[str, Any]]:
    return [{"operation": "set", "server": "redis", "before": before, "after": after, "answered": answered, **keys}]


def test_rows_are_counted_as_rows(learned: Learned, clean: TrialRecord) -> None:
    equal = with_facts(trial_of(clean, 1), stored=counted(0, 100, 100, keys_before=0, keys_after=100))
    assert (learned("stored", [equal]).verdict, render_message(learned("stored", [equal]).now)) == (
        "did_not_happen", "Rows counted on the server are the correct replies in every trial (1 counted).",
    )  # fmt: skip
    hashes = with_facts(trial_of(clean, 2), stored=counted(100, 200, 100, keys_before=100, keys_after=400))
    found = learned("stored", [equal, hashes])
    assert found.verdict == "caught"
    assert render_message(found.now).endswith(
        "A row is 3 keys at set, 1 kB, 32 workers: counting keys would have given 300 where 100 rows were stored."
    )
    lost = with_facts(trial_of(clean, 3), stored=counted(0, 90, 100))
    assert render_message(learned("stored", [equal, lost]).now) == (
        "Rows counted on the server are the correct replies in 1 of 2 trials (2 counted). In 1 they are not: these "
        "give no figure."
    )
    assert learned("stored", [with_facts(clean, stored=counted(0, None, 100))]).verdict == "unknown"
    assert learned("stored", [clean]).verdict == "unknown"


def test_repeats_tell_what_one_run_could_not(learned: Learned, clean: TrialRecord) -> None:
    trials = [trial_of(clean, number, rate) for number, rate in enumerate([100.0, 110.0, 120.0], start=1)]
    found = learned("repeats", trials)
    assert found.verdict == "did_not_happen"
    assert render_message(found.now) == (
        "Each condition was measured in 3 blocks, in random order. Single trials of one condition lie up to 20 % "
        "apart, typically 20 %: two single runs could not distinguish a smaller difference from chance, and keeping "
        "the better of two would have added 6.1 %."
    )
    once = learned("repeats", trials[:1])
    assert (once.verdict, "measured once here, too" in render_message(once.now)) == ("caught", True)
    some = learned("repeats", [*trials, trial_of(clean, 1, workers=1)])
    assert (some.verdict, "in 1 to 3 blocks" in render_message(some.now)) == ("caught", True)
    failed = CheckResult(
        name="finished", verdict="invalid", measured=None, limit=None, unit="", reason=verbatim("It ended.")
    )
    ended = clean.model_copy(update={"verdict": "invalid", "checks": [failed]})
    assert learned("repeats", [ended]).verdict == "unknown"
