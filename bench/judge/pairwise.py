"""Pairs judged each by itself, as if the experiment had declared no other; with the checks, and without them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

from loadstone.experiment.plan.group import GroupDesign, PairDesign
from loadstone.experiment.plan.look_schedule import LOOKS
from loadstone.experiment.spec.experiment import RATE_MARGIN, Experiment
from loadstone.experiment.spec.levels import Condition
from loadstone.judge.compare.blocks import group_blocks
from loadstone.judge.compare.cases import GroupCase, judge_group
from loadstone.judge.compare.latencies import HistogramCache
from loadstone.judge.verdict import Verdict
from loadstone.run_folder.facts import TrialFacts
from loadstone.run_folder.latency_logs import LatencyKind
from loadstone.run_folder.trial import TrialRecord


@dataclass(frozen=True)
class Design:
    """How all pairs of a bench are judged: one look, or the sequential ones."""

    group: str
    sequential: bool
    trial_s: float
    overhead_s: float


def judged_alone(experiment: Experiment, design: Design, pair: PairDesign, trials: Iterable[TrialRecord]) -> Verdict:
    """The verdict on goodput after all blocks of `trials`, at the level of an only comparison."""
    blocks = group_blocks(design.group, (pair.a, pair.b), trials)
    line = GroupDesign(
        name=design.group,
        pairs=(PairDesign(a=pair.a, b=pair.b),),
        metric="goodput_per_s",
        margin=RATE_MARGIN,
        looks=LOOKS if design.sequential else (len(blocks.complete),),
        sequential=design.sequential,
        warm_block=True,
        trial_s=design.trial_s,
        overhead_s=design.overhead_s,
    )
    case = GroupCase(line, experiment, blocks, blocks.complete, HistogramCache(_no_histogram, _no_histogram))
    return judge_group(case)[0][2]


def unchecked(trials: Iterable[TrialRecord]) -> list[TrialRecord]:
    """The same trials as if no check had been made, and no bound known: what the statistics alone would say."""
    return [trial.model_copy(update={"checks": [], "verdict": "valid", "facts": TrialFacts()}) for trial in trials]


def claims_a_difference(found: Verdict) -> bool:
    """Whether the verdict says that the difference is real, however small."""
    return found.kind in ("faster", "mixed") or found.negligible


def pair_of(a: Condition, b: Condition) -> PairDesign:
    """Two conditions."""
    return PairDesign(a=a, b=b)


def counted(values: Iterable[str]) -> dict[str, int]:
    """How often each stands there, the most frequent first."""
    found: dict[str, int] = {}
    for value in values:
        found[value] = found.get(value, 0) + 1
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(str(cell) for cell in line)} |" for line in lines)


def counts_text(counts: Mapping[str, int]) -> str:
    """`12 valid, 3 suspect`; `none` if there are none."""
    return ", ".join(f"{number} {name}" for name, number in counts.items()) or "none"


def _no_histogram(trial: str, kind: LatencyKind) -> NoReturn:
    raise AssertionError(f"{trial}: goodput needs no histogram of the {kind} time")
