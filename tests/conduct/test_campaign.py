"""Which trial comes next, and when a comparison ends, by a script.

Trials take 10 s each by a clock of their own; the folder is a real one.
"""

import io
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from rich.console import Console
from tests.verdicts import refused_by, verdict

from loadstone.analyse.analysis import analyse_run
from loadstone.conduct.campaign import Campaign
from loadstone.errors import Interrupted, LoadstoneError
from loadstone.judge.verdict import Verdict
from loadstone.live.progress import RunProgress
from loadstone.message import Message, message
from loadstone.plan.required import RequiredSubject
from loadstone.plan.run_plan import REPORT_S, TABLE_GROUP, Group, Pair, PlannedTrial, RunPlan
from loadstone.record.folder import RunFolder
from loadstone.record.plan_summary import summarise_plan
from loadstone.record.reading import read_run
from loadstone.record.trial import CheckResult, TrialRecord
from loadstone.report.text.sentences import text

TRIAL_S = 10.0
START_S = 1_790_000_000.0
LOOKS = (8, 12, 18, 27, 40)
FASTER = verdict("faster", -10.7, -13, -8.3, names=("A", "B"))
EQUIVALENT = verdict("equivalent", 0, -2, 2)
NOT_DECIDABLE = verdict("not_decidable", 3, -20, 30, noise_floor=0.26)


class Clock:
    """Seconds since 1970 that pass when a trial runs."""

    def __init__(self) -> None:
        self.now = START_S

    def __call__(self) -> float:
        return self.now


@dataclass
class Outcome:
    verdicts: list[Verdict]
    decided: bool
    forecast: Message | None = None


@dataclass
class ScriptedJudge:
    """Decides each group at the number of blocks that `decides` names, and remembers what it was called with."""

    decides: dict[str, int] = field(default_factory=dict)
    verdict: Verdict = FASTER
    requested: list[tuple[str, int]] = field(default_factory=list)

    def __call__(
        self,
        group: Group,
        experiment: Any,  # noqa: ARG002 (the judge's signature)
        trials: Sequence[TrialRecord],
        budget_minutes: float | None,  # noqa: ARG002
    ) -> Outcome:
        blocks = len({trial.block for trial in trials} - {0})
        assert len(trials) == len({trial.trial for trial in trials})
        assert {trial.group for trial in trials} <= {group.name}
        self.requested.append((group.name, blocks))
        decided = blocks >= self.decides.get(group.name, 10**6)
        found = self.verdict if decided else verdict("undecided", 3, -1, 7)
        return Outcome([found] * len(group.pairs), decided, message("forecast", blocks=12, spread=0.1133, effect=0.1))


Script = Callable[[PlannedTrial, int], str | LoadstoneError | None]
"""What happens to a trial at its nth attempt: the name of a check that becomes invalid, or an error, or nothing."""


def quiet(planned: PlannedTrial, attempt: int) -> None:
    """Nothing happens."""


@dataclass
class ScriptedConductor:
    """Writes trials into the folder as a conductor does, without driving anything."""

    folder: RunFolder
    clock: Clock
    template: TrialRecord
    script: Script = quiet
    ran: list[str] = field(default_factory=list)

    def run(self, planned: PlannedTrial, on_interval: Any) -> TrialRecord:  # noqa: ARG002 (the conductor's signature)
        writer = self.folder.begin_trial(planned.name)
        happens = self.script(planned, writer.attempt)
        if isinstance(happens, LoadstoneError):
            raise happens
        started_s = self.clock.now
        self.clock.now += TRIAL_S
        self.ran.append(planned.name)
        checks = [failed(happens)] if happens else []
        record = self.template.model_copy(
            update={
                "trial": planned.name,
                "condition": planned.condition,
                "group": planned.group,
                "block": planned.block,
                "order": planned.order,
                "started_unix_ns": int(started_s * 1e9),
                "phases": {"measure": (0.0, TRIAL_S)},
                "checks": checks,
                "verdict": "invalid" if checks else "valid",
                "facts": {},
            }
        )
        return writer.finish(record)


def failed(name: str) -> CheckResult:
    return CheckResult(name=name, verdict="invalid", measured=61, limit=50, unit="%", reason="Others took 31 %.")


@dataclass
class Bench:
    """A run plan, and campaigns over it in one folder."""

    synthetic: ModuleType
    root: Path
    clock: Clock = field(default_factory=Clock)
    judge: ScriptedJudge = field(default_factory=ScriptedJudge)
    out: io.StringIO = field(default_factory=io.StringIO)
    ran: list[str] = field(default_factory=list)

    def plan(self, *groups: Group, budget_s: float = 1e6) -> RunPlan:
        """A plan with a budget that leaves `budget_s` for trials; the rest is kept for the report."""
        trials = tuple(trial for group in groups for trial in self._trials(group))
        plan = self.synthetic.make_run_plan(groups=groups, trials=trials, budget_s=budget_s)
        for _ in range(40):
            plan = replace(plan, budget_s=budget_s + plan.ending_s() + 1e-6)
        return plan

    def _trials(self, group: Group) -> Iterator[PlannedTrial]:
        plan = self.synthetic.make_plan()
        prefix = "" if group.name == TABLE_GROUP else f"{group.name}-"
        for block in range(0 if group.warm_block else 1, group.looks[-1] + 1):
            for order, condition in enumerate(group.conditions, start=1):
                name = f"{prefix}b{block:02d}-{order:03d}"
                yield PlannedTrial(name, condition, block, order, {}, plan, None, group.name)

    def run(self, plan: RunPlan, script: Script = quiet, began_s: float | None = None) -> LoadstoneError | None:
        """Run the plan in the folder, or go on with it; the error that it ended with."""
        template = self.synthetic.make_trial()
        experiment = self.synthetic.make_experiment()
        with self._folder(plan, experiment) as folder:
            conductor = ScriptedConductor(folder, self.clock, template, script)
            console = Console(file=self.out, width=200, color_system=None)
            progress = RunProgress(console, self.clock, verbose=True)
            campaign = Campaign(
                conductor, folder, experiment, plan, progress, self.judge, self.clock, self.clock, began_s
            )
            try:
                campaign.run()
            except LoadstoneError as error:
                return error
            finally:
                self.ran = conductor.ran
        return None

    def _folder(self, plan: RunPlan, experiment: Any) -> RunFolder:
        existing = list(self.root.glob("*/plan.json"))
        if existing:
            folder = RunFolder.resume(existing[0].parent)
            folder.write_plan(summarise_plan(plan))
            return folder
        resolved = experiment.model_dump(mode="json")
        return RunFolder.create(self.root, "small", resolved, self.synthetic.ENVIRONMENT, summarise_plan(plan))

    def looks(self) -> list[tuple[str, int, str]]:
        (path,) = self.root.glob("*")
        return [(look.group, look.blocks, look.reason) for look in read_run(path).looks]

    def recorded(self) -> Any:
        (path,) = self.root.glob("*")
        return read_run(path)

    def blocks(self, group: str) -> list[int]:
        """The blocks of a comparison whose trials ran last, in order, each once."""
        found = [
            int(name.removeprefix(f"{group}-b").split("-")[0]) for name in self.ran if name.startswith(f"{group}-")
        ]
        return sorted(set(found))

    @property
    def said(self) -> str:
        return self.out.getvalue()


@pytest.fixture
def bench(synthetic: ModuleType, tmp_path: Path) -> Bench:
    return Bench(synthetic, tmp_path / "runs")


def table(blocks: int = 2, conditions: int = 3) -> Group:
    levels = tuple({"operation": "set", "payload": "1 kB", "workers": n, "idle": "few"} for n in range(conditions))
    return Group(TABLE_GROUP, levels, (), "goodput_per_s", 0.05, (blocks,), False, False, 8.0, 2.0)


def compared(
    name: str = "storage", sequential: bool = True, looks: tuple[int, ...] = LOOKS, warm: bool = True
) -> Group:
    a, b = ({"operation": name, "payload": "1 kB", "workers": 32, "idle": idle} for idle in ("few", "many"))
    return Group(name, (a, b), (Pair(a, b),), "goodput_per_s", 0.05, looks, sequential, warm, 8.0, 2.0)


BLOCK_S = 2 * TRIAL_S


# Rounds


def test_a_block_of_the_table_comes_first_and_the_others_after_the_first_looks(bench: Bench) -> None:
    assert bench.run(bench.plan(table(blocks=3), compared())) is None
    assert bench.ran[:3] == ["b01-001", "b01-002", "b01-003"]
    assert bench.ran[3:5] == ["storage-b00-001", "storage-b00-002"]
    rest = 3 + 2 * 9
    assert bench.ran[rest : rest + 6] == ["b02-001", "b02-002", "b02-003", "b03-001", "b03-002", "b03-003"]
    assert bench.looks()[:3] == [("storage", 8, "go on"), ("table", 3, "last look"), ("storage", 12, "go on")]


def test_the_table_never_takes_the_time_of_a_first_look(bench: Bench) -> None:
    bench.run(bench.plan(table(blocks=9), compared(), budget_s=3 * TRIAL_S + 9 * BLOCK_S + 4 * TRIAL_S))
    assert bench.looks()[:2] == [("storage", 8, "go on"), ("table", 2, "out of budget")]


def test_the_table_is_whole_where_there_is_nothing_to_compare(bench: Bench) -> None:
    bench.run(bench.plan(table(blocks=2)))
    assert bench.ran == ["b01-001", "b01-002", "b01-003", "b02-001", "b02-002", "b02-003"]
    assert bench.looks() == [("table", 2, "last look")]


def test_groups_take_turns_look_by_look_until_each_is_decided(bench: Bench) -> None:
    bench.judge.decides = {"storage": 12, "pool": 8}
    bench.run(bench.plan(compared("storage"), compared("pool"), compared("update")))
    assert bench.looks() == [
        ("storage", 8, "go on"),
        ("pool", 8, "decided"),
        ("update", 8, "go on"),
        ("storage", 12, "decided"),
        ("update", 12, "go on"),
        ("update", 18, "go on"),
        ("update", 27, "go on"),
        ("update", 40, "last look"),
    ]
    assert bench.blocks("pool") == list(range(9))
    assert bench.blocks("update") == list(range(41))


def test_the_verdict_of_each_pair_is_recorded_with_the_look(bench: Bench) -> None:
    bench.judge.decides = {"storage": 8}
    bench.run(bench.plan(compared()))
    (look,) = bench.recorded().looks
    assert look.verdicts == [FASTER.of_look()]
    assert (look.verdicts[0].kind, look.verdicts[0].winner) == ("faster", "a")
    assert look.stop
    assert look.elapsed_s == 9 * BLOCK_S
    assert "storage, after 8 blocks: decided: A FASTER by 12 % [9, 15]" in bench.said


def test_an_undecided_look_says_what_the_next_one_will_show(bench: Bench) -> None:
    bench.judge.decides = {"storage": 12}
    bench.run(bench.plan(compared()))
    assert bench.said.count("storage: its blocks spread by 12 %") == 1


def test_a_fixed_design_is_judged_once_at_its_end(bench: Bench) -> None:
    bench.judge.decides = {"storage": 1}
    bench.run(bench.plan(compared(sequential=False, looks=(5,), warm=False)))
    assert bench.looks() == [("storage", 5, "decided")]
    assert bench.blocks("storage") == [1, 2, 3, 4, 5]


# The budget


def test_the_budget_ends_a_group_between_two_looks_with_a_look(bench: Bench) -> None:
    bench.run(bench.plan(compared(), budget_s=(1 + 10) * BLOCK_S + 5))
    assert bench.looks() == [("storage", 8, "go on"), ("storage", 10, "out of budget")]
    assert bench.blocks("storage") == list(range(11))
    assert bench.clock.now - START_S <= 11 * BLOCK_S


def test_before_the_first_look_a_group_runs_what_fits(bench: Bench) -> None:
    bench.run(bench.plan(compared(), budget_s=5 * BLOCK_S))
    assert bench.looks() == [("storage", 4, "out of budget")]


def test_no_budget_left_at_all_is_a_look_at_nothing(bench: Bench) -> None:
    bench.run(bench.plan(table(blocks=1), compared(), budget_s=35))
    assert bench.looks() == [("table", 1, "last look"), ("storage", 0, "out of budget")]
    assert len(bench.ran) == 3


def test_no_time_for_another_block_ends_the_group_at_the_look_it_had(bench: Bench) -> None:
    bench.run(bench.plan(compared(), budget_s=(1 + 8) * BLOCK_S + 5))
    assert bench.looks() == [("storage", 8, "go on"), ("storage", 8, "out of budget")]


def test_too_few_blocks_for_a_verdict_may_become_more_with_more_time(bench: Bench) -> None:
    bench.judge.decides, bench.judge.verdict = {"storage": 0}, refused_by("replication", 4, 8, "blocks")
    bench.run(bench.plan(compared(), budget_s=5 * BLOCK_S))
    assert bench.looks() == [("storage", 4, "out of budget")]
    bench.judge.decides, bench.judge.verdict = {"storage": 8}, EQUIVALENT
    bench.run(bench.plan(compared()))
    assert bench.looks()[1:] == [("storage", 8, "decided")]


def test_time_is_estimated_by_what_the_blocks_took_not_by_the_plan(bench: Bench) -> None:
    slow = Group(**(vars(compared()) | {"trial_s": 100.0, "overhead_s": 50.0}))
    bench.judge.decides = {"storage": 8}
    bench.run(bench.plan(slow, budget_s=700))  # by the plan two blocks take 600 s, in truth 40 s
    assert bench.looks() == [("storage", 8, "decided")]


def test_a_block_of_a_table_that_does_not_fit_is_not_begun(bench: Bench) -> None:
    bench.run(bench.plan(table(blocks=6), budget_s=45))
    assert bench.ran == ["b01-001", "b01-002", "b01-003"]
    assert bench.looks() == [("table", 1, "out of budget")]


def test_the_first_block_of_a_table_is_cut_short_and_gone_on_with(bench: Bench) -> None:
    bench.run(bench.plan(table(blocks=1, conditions=5), budget_s=25))
    assert bench.ran == ["b01-001", "b01-002"]
    assert bench.looks() == [("table", 0, "out of budget")]
    found = analyse_run(bench.recorded())
    assert any(
        text(note).startswith("3 of 5 conditions of the tables were not measured: budget.") for note in found.notes
    )
    bench.run(bench.plan(table(blocks=1, conditions=5)))
    assert bench.ran == ["b01-003", "b01-004", "b01-005"]
    assert bench.looks()[1:] == [("table", 1, "last look")]


def test_a_long_table_leaves_the_first_look_its_time(bench: Bench) -> None:
    bench.judge.decides = {"storage": 8}
    first_look_s = 9 * BLOCK_S
    bench.run(bench.plan(table(blocks=1, conditions=9), compared(), budget_s=first_look_s + 5 * TRIAL_S))
    assert bench.ran[5] == "storage-b00-001", "five trials of the table, then the comparison"
    assert bench.looks() == [("storage", 8, "decided"), ("table", 0, "out of budget")]


def test_what_comes_before_and_after_the_trials_is_in_the_budget(bench: Bench) -> None:
    plan = bench.plan(table(blocks=6), budget_s=65)
    assert plan.budget_s > 65 + REPORT_S
    bench.run(plan, began_s=bench.clock.now - 35)
    assert len(bench.ran) == 3, "of 65 s the start took 35"


def test_what_must_be_started_first_is_in_the_budget(bench: Bench) -> None:
    plan = bench.plan(table(blocks=1, conditions=2), budget_s=25)
    app = {"app": RequiredSubject(manifest="app", warm_up_s=5)}
    bench.run(replace(plan, trials=tuple(replace(trial, subjects=app) for trial in plan.trials)))
    assert bench.ran == [], "its start and warm-up take longer than there is time"


# Repeats


def test_nothing_is_measured_again_because_of_what_a_trial_says(bench: Bench) -> None:
    bench.judge.decides = {"storage": 8}
    doubtful = {"storage-b03-002": "taken", "storage-b04-001": "gain", "b01-002": "errors"}
    bench.run(bench.plan(table(), compared()), lambda planned, _: doubtful.get(planned.name))
    assert len(bench.ran) == len(set(bench.ran))
    assert bench.recorded().superseded == ()
    assert bench.looks()[0] == ("storage", 8, "decided")


# Going on


def stop_at(name: str, attempt: int = 1) -> Script:
    ends = Interrupted("interrupted; what was finished is kept")
    return lambda planned, now: ends if planned.name == name and now == attempt else None


def test_an_interrupted_group_has_no_look_and_goes_on_where_it_was(bench: Bench) -> None:
    bench.judge.decides = {"storage": 8}
    plan = bench.plan(table(), compared())
    assert isinstance(bench.run(plan, stop_at("storage-b05-002")), Interrupted)
    assert bench.looks() == []
    bench.run(plan)
    assert bench.ran[0] == "storage-b05-002"
    assert bench.blocks("storage") == [5, 6, 7, 8]
    assert bench.looks() == [("storage", 8, "decided"), ("table", 2, "last look")]


def test_after_a_long_pause_a_half_done_block_is_begun_again(bench: Bench) -> None:
    bench.judge.decides = {"storage": 8}
    plan = bench.plan(compared())
    bench.run(plan, stop_at("storage-b05-002"))
    bench.clock.now += 3600
    bench.run(plan)
    assert bench.ran[:2] == ["storage-b05-001", "storage-b05-002"]
    assert "block 5 of storage is measured again: it was interrupted for too long" in bench.said
    assert bench.judge.requested == [("storage", 8)]


def test_ended_groups_are_not_touched(bench: Bench) -> None:
    bench.judge.decides = {"storage": 8}
    plan = bench.plan(table(), compared())
    bench.run(plan)
    before = bench.looks()
    bench.run(plan)
    assert bench.ran == []
    assert bench.looks() == before


def test_earlier_sessions_count_in_the_budget_and_the_pause_between_does_not(bench: Bench) -> None:
    plan = bench.plan(compared(), budget_s=(1 + 10) * BLOCK_S + 5)
    bench.run(plan, stop_at("storage-b05-002"))
    bench.clock.now += 3600
    bench.run(plan)
    assert bench.looks() == [("storage", 8, "go on"), ("storage", 9, "out of budget")]  # a trial was measured twice


def test_a_look_that_the_budget_forced_stands_for_the_next_planned_one(bench: Bench) -> None:
    bench.judge.decides = {"storage": 12}
    bench.run(bench.plan(compared(), budget_s=(1 + 10) * BLOCK_S + 5))
    assert bench.looks()[-1] == ("storage", 10, "out of budget")
    bench.run(bench.plan(compared()))
    assert bench.blocks("storage") == list(range(11, 19))
    assert bench.looks()[-1] == ("storage", 18, "decided")


def test_however_often_a_run_goes_on_there_are_no_more_looks_than_planned(bench: Bench) -> None:
    for blocks in range(7, 41):
        bench.run(bench.plan(compared(), budget_s=(1 + blocks) * BLOCK_S + 5))
    judged = sorted({blocks for _, blocks in bench.judge.requested if blocks >= 8})
    assert judged == [8, 9, 10, 11, 27]
    assert bench.looks()[-1] == ("storage", 27, "out of budget")
    assert len(judged) == len(LOOKS)


def test_the_last_look_is_kept_where_the_budget_ends_far_before_it(bench: Bench) -> None:
    for blocks in (8, 9, 10, 11, 14):
        bench.run(bench.plan(compared(), budget_s=(1 + blocks) * BLOCK_S + 5))
    assert bench.looks()[-1] == ("storage", 11, "out of budget")  # 14 blocks are there, and not looked at
    assert 14 not in {blocks for _, blocks in bench.judge.requested}
    bench.judge.decides = {"storage": 40}
    bench.run(bench.plan(compared()))
    assert bench.looks()[-1] == ("storage", 40, "decided")


def test_a_fixed_design_is_looked_at_once_however_much_time_it_gets(bench: Bench) -> None:
    bench.judge.decides, bench.judge.verdict = {"storage": 9}, NOT_DECIDABLE
    fixed = compared(sequential=False, looks=(20,))
    bench.run(bench.plan(fixed, budget_s=(1 + 10) * BLOCK_S + 5))
    assert bench.looks() == [("storage", 10, "decided")]
    bench.run(bench.plan(fixed))
    assert bench.ran == []
    assert bench.looks() == [("storage", 10, "decided")]


def test_a_run_of_before_whose_looks_held_sentences_goes_on(bench: Bench) -> None:
    bench.judge.decides, bench.judge.verdict = {"storage": 9}, NOT_DECIDABLE
    bench.run(bench.plan(compared(), budget_s=(1 + 10) * BLOCK_S + 5))
    path = bench.recorded().path / "looks.jsonl"
    looks = [json.loads(line) for line in path.read_text().splitlines()]
    for look in looks:
        del look["verdicts"]
        look["words"] = ["NOT DECIDABLE HERE: noise floor +-30 %" if look["stop"] else "UNDECIDED: 3 % [-1, 7]"]
    path.write_text("".join(json.dumps(look) + "\n" for look in looks))
    bench.judge.verdict = EQUIVALENT
    bench.run(bench.plan(compared()))
    assert bench.looks()[-1] == ("storage", 18, "decided")


def test_what_was_not_decidable_goes_on_with_more_time_to_the_looks_that_are_left(bench: Bench) -> None:
    bench.judge.decides, bench.judge.verdict = {"storage": 9}, NOT_DECIDABLE
    bench.run(bench.plan(compared(), budget_s=(1 + 10) * BLOCK_S + 5))
    assert bench.looks()[-1] == ("storage", 10, "decided")
    bench.judge.verdict = EQUIVALENT
    bench.run(bench.plan(compared()))
    assert bench.looks()[-1] == ("storage", 18, "decided")
    bench.run(bench.plan(compared(), budget_s=2e6))
    assert bench.ran == []


def test_a_table_out_of_budget_goes_on_with_more(bench: Bench) -> None:
    bench.run(bench.plan(table(blocks=2), budget_s=45))
    bench.run(bench.plan(table(blocks=2)))
    assert bench.ran == ["b02-001", "b02-002", "b02-003"]
    assert bench.looks()[-1] == ("table", 2, "last look")


def test_blocks_that_were_measured_and_not_looked_at_are_looked_at_first(bench: Bench) -> None:
    """The process was killed between the last trial of a block and the look."""
    bench.judge.decides = {"storage": 8}
    plan = bench.plan(compared())
    bench.run(plan)
    (path,) = bench.root.glob("*")
    (path / "looks.jsonl").write_text("")
    bench.run(plan)
    assert bench.ran == []
    assert bench.looks() == [("storage", 8, "decided")]
