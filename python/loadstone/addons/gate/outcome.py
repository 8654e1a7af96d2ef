"""What a gate found: is the head slower than its base? From the run's folder alone."""

import math
from collections.abc import Mapping, Sequence
from statistics import median

from loadstone.addons.gate.needs import advice, paces_of, runs_already, with_needs
from loadstone.addons.gate.result import FigureName, GateFigure, GateResult, GateVerdict
from loadstone.addons.gate.rule import (
    DECIDING,
    GOOD,
    deciding,
    figure_verdict,
    figure_verdict_by_starts,
    invalidates_gate,
    losses_within_start_noise,
    margin_of,
    may_be_lost,
    probable_losses,
    start_noise_reach,
    starts_differ_in,
    status_of,
    unknown,
    verdict_of,
)
from loadstone.addons.gate.schedule import gate_level
from loadstone.addons.gate.spec import BASE, GATE_P99, GATE_RATE, HEAD, Gate
from loadstone.addons.gate.texts import TOLERABLE
from loadstone.experiment.plan.run_plan import WARM_BLOCK
from loadstone.experiment.spec.experiment import AA_FACTOR, TWIN_LEVELS
from loadstone.judge.analysis.analysis import Comparison, Family
from loadstone.judge.analysis.comparisons import INTERRUPTED
from loadstone.judge.analysis.completion import elapsed_s
from loadstone.judge.analysis.evaluations import RunFindings
from loadstone.judge.cost import cost_of
from loadstone.judge.statistics.decision import verdict_of_blocks
from loadstone.judge.statistics.settings import Settings
from loadstone.judge.verdict import Verdict
from loadstone.run_folder.reading import RecordedRun, figure_at
from loadstone.run_folder.trial import CheckResult, TrialRecord
from loadstone.text.message import Message, message
from loadstone.text.units import margin_share


def unclaimed(figure: GateFigure) -> GateFigure:
    """A figure of an invalid gate."""
    if figure.verdict == "invalid":
        return figure
    claims = ("ratio", "low", "high", "slower", "slower_low", "slower_high", "visible", "why")
    return figure.model_copy(update={"verdict": "unclaimed", **dict.fromkeys(claims)})


TARGET = "target"
"""The factor of a gate."""


def memory_verdict(run: RecordedRun, trials: Sequence[TrialRecord], gate: Gate) -> Verdict | None:
    """The most resident memory of both in each block, compared block by block; None where it was not seen."""
    by_block: dict[tuple[str, int], dict[str, float]] = {}
    for trial in trials:
        side = str(trial.condition.get(TARGET, ""))
        peak = _peak_bytes(run, trial, side)
        if trial.block != WARM_BLOCK and trial.condition.get(AA_FACTOR) != TWIN_LEVELS[1] and peak is not None:
            by_block.setdefault((trial.group, trial.block), {})[side] = peak
    both = [peaks for peaks in by_block.values() if {BASE, HEAD} <= peaks.keys() and min(peaks.values()) > 0]
    if not both:
        return None
    settings = Settings(
        metric="rss_bytes",
        larger_is_faster=False,
        margin=margin_share(gate.memory_margin),
        alpha=gate_level(gate.level, gate.figures, sequential=True, in_rounds=False),
        names=(BASE, HEAD),
    )
    of_base, of_head = ([one[side] for one in both] for side in (BASE, HEAD))
    found = verdict_of_blocks(of_base, of_head, settings)
    a, b = (
        side.model_copy(update={"typical": median(peaks)}) for side, peaks in ((found.a, of_base), (found.b, of_head))
    )
    return found.model_copy(update={"a": a, "b": b})


def _peak_bytes(run: RecordedRun, trial: TrialRecord, side: str) -> float | None:
    """The most resident memory in a trial: of the program with a client library, or of the part that is compared."""
    drive = trial.facts.drive
    if drive is not None and drive.program is not None:
        return drive.program.peak_memory_bytes
    seen = (one.value for one in run.samples.get(trial.trial, ()) if (one.part, one.metric) == (side, "rss_bytes"))
    return max(seen, default=None)


SEEN = 1.22
"""A loss is seen 8 times in 10 if it lies beyond the margin by so many half widths of the interval: 1 + .84 / 3.8."""


def evaluate_gate(found: RunFindings) -> GateResult | None:
    """The answer that stands under `gate` in the analysis."""
    return gate_of(found.run, found.families, found.trials, elapsed_s(found.run))


def gate_of(
    run: RecordedRun, families: Sequence[Family], trials: Sequence[TrialRecord], took_s: float
) -> GateResult | None:
    """The outcome of a run that is a gate; None of any other."""
    gate = run.experiment.part(Gate)
    if gate is None:
        return None
    by_name = {family.name: family for family in families}
    memory = memory_verdict(run, trials, gate)
    main = {name: one.comparisons[0] for name, one in by_name.items() if one.comparisons}
    groups = {group.name: group for group in run.plan.groups}
    starts = {name: starts_differ_in(gate, groups[name]) for name in main if name in groups}
    differ = max(starts.values(), default=0.0)
    figures = _figures(main, starts)
    others = [] if memory is None else [_figure("memory", memory, differ)]
    figures += others
    twins = {name: one.twin for name, one in by_name.items() if one.twin is not None}
    twin = _figures(twins, {} if runs_already(run.experiment) else starts)  # what runs already is one process, twice
    refusal = _refusal([main[name] for name in (GATE_RATE, GATE_P99) if name in main])
    paces = paces_of([groups[name] for name in (GATE_RATE, GATE_P99) if name in groups], trials)
    pace = paces.get(GATE_RATE, paces.get(GATE_P99))
    why = None if refusal is None else message("gate_refused", check=refusal.name, reason=refusal.reason)
    if any(trial.facts.one_process_with for trial in trials):
        why = message("gate_one_process")
    verdict, by = verdict_of(figures, twin, invalid=why is not None or not figures)
    cut = _interrupted(main) if verdict == "undecided" else None
    if verdict == "invalid":
        figures = [unclaimed(one) for one in figures]
    elif verdict == "slower":
        figures = [_unmeasured(one, message("gate_known_before")) for one in figures]
    elif cut is None:
        of = {"rate": pace, "cpu": pace, "p99": paces.get(GATE_P99)}
        figures = [
            _unmeasured(with_needs(one, of.get(one.name), took_s, run.plan.budget_s), message("gate_not_begun"))
            for one in figures
        ]
    open_ = verdict == "undecided" and cut is None
    shown = _shown(main, starts, figures, others, twin) if open_ else None
    return GateResult(
        base=gate.base,
        head=gate.head,
        verdict=verdict,
        status=status_of(verdict, gate.undecided),
        message=cut or _said(verdict, by, figures, twin, why, once=differ > 0, shown=shown),
        decided_by=by,
        figures=figures,
        twin=twin,
        advice=advice(figures, pace, run.experiment, run.plan.budget_s, differ) if open_ else None,
        level=gate.level,
        starts_differ=differ,
        tolerance=margin_share(gate.cost_margin),
        run=run.path.resolve().name,
        began_unix_s=min((trial.started_unix_ns for trial in trials), default=0) / 1e9,
        elapsed_s=round(took_s, 3),
        budget_s=run.plan.budget_s,
        machine=_machine(run.environment),
    )


def _interrupted(main: Mapping[str, Comparison]) -> Message | None:
    """Where the comparison that decides was ended by the user, or by what ended the run."""
    first = main.get(GATE_RATE, main.get(GATE_P99))
    if first is None or first.ended != INTERRUPTED:
        return None
    return message("gate_interrupted", units=first.blocks_done, unit=first.primary.unit)


def _unmeasured(figure: GateFigure, why: Message) -> GateFigure:
    """With why it was not measured, if it was not."""
    open_ = figure.verdict == "undecided" and figure.units == 0 and figure.why is None
    return figure.model_copy(update={"why": why}) if open_ else figure


def _shown(
    main: Mapping[str, Comparison],
    starts_differ: Mapping[str, float],
    figures: Sequence[GateFigure],
    others: Sequence[GateFigure],
    twin: Sequence[GateFigure],
) -> Message | None:
    """What an open gate did show: by how much at most the head is slower, and the tolerance that is green by that.

    None where no tolerance that anybody means would be.
    """
    asked = [one for one in deciding(figures) if one.verdict == "undecided" and one.slower_high is not None]
    for one in sorted(asked, key=lambda figure: figure.slower_high or 0.0):
        at_most = one.slower_high or 0.0
        tolerance = math.ceil(round(100 * at_most, 6)) / 100
        if not one.tolerance < tolerance <= TOLERABLE:
            continue
        wider = _figures(main, starts_differ, {of.name: tolerance for of in deciding(figures)})
        if verdict_of([*wider, *others], twin)[0] in ("same", "faster"):
            return message("gate_shown", figure=one.name, at_most=at_most, tolerance=tolerance)
    return None


def _figures(
    pairs: Mapping[str, Comparison],
    starts_differ: Mapping[str, float],
    tolerances: Mapping[FigureName, float] | None = None,
) -> list[GateFigure]:
    """The figures of one pair: from the comparison of rates, and from that at a rate.

    `starts_differ`: of each comparison what starts of one version differ by, where that is not in its intervals.
    `tolerances`: of figures that are judged by another one than the gate's.
    """
    found: list[GateFigure] = []
    rate, p99 = pairs.get(GATE_RATE), pairs.get(GATE_P99)

    def figure(name: FigureName, verdict: Verdict, starts_differ: float) -> GateFigure:
        margin = (tolerances or {}).get(name, verdict.margin)
        return _figure(name, verdict.model_copy(update={"margin": margin}), starts_differ)

    if rate is not None:
        found.append(figure("rate", rate.primary, starts_differ.get(GATE_RATE, 0.0)))
    for name in (GATE_RATE, GATE_P99):
        one = pairs.get(name)
        if one is not None and (cost := cost_of(one.costs)) is not None:
            found.append(figure("cpu", cost, starts_differ.get(name, 0.0)))
            break
    if p99 is not None:
        of_p99 = figure("p99", p99.primary, starts_differ.get(GATE_P99, 0.0))
        found.append(of_p99.model_copy(update={"requests": p99.requests}))
    return found


def _refusal(main: Sequence[Comparison]) -> CheckResult | None:
    """What forbids any verdict: what does so to the first comparison, and requests that fail in either."""
    for number, one in enumerate(main):
        if invalidates_gate(one.primary) or (number == 0 and figure_verdict(one.primary) == "invalid"):
            return one.primary.refusal
    return None


def _figure(name: FigureName, verdict: Verdict, starts_differ: float) -> GateFigure:
    """`starts_differ`: of one version, where that is not in the interval: see `figure_verdict`."""
    sign = -1 if verdict.larger_is_faster else 1
    slower = [None if one is None else sign * one for one in (verdict.estimate, verdict.low, verdict.high)]
    ends = sorted(one for one in slower[1:] if one is not None)
    low, high = ends if len(ends) == 2 else (None, None)
    shown = verdict.kind != "invalid" and low is not None
    half = None if low is None or high is None else (high - low) / 2
    reach = start_noise_reach(verdict, starts_differ)
    found, withheld = figure_verdict_by_starts(verdict, starts_differ)
    return GateFigure(
        name=name,
        unit="bytes" if name == "memory" else "/s" if verdict.larger_is_faster else "ns",
        verdict=found,
        base=verdict.a.typical if shown else None,
        head=verdict.b.typical if shown else None,
        ratio=_times(verdict.estimate) if shown else None,
        low=_times(verdict.low) if shown else None,
        high=_times(verdict.high) if shown else None,
        slower=_lost(slower[0], verdict) if shown else None,
        slower_low=_lost(low, verdict) if shown else None,
        slower_high=_lost(high, verdict) if shown else None,
        tolerance=verdict.margin,
        may_be_lost=found == "undecided" and may_be_lost(verdict),
        visible=None if half is None else _lost(margin_of(verdict) + SEEN * math.hypot(half, reach), verdict),
        interval_level=verdict.level,
        units=verdict.blocks,
        unit_of_units=verdict.unit,
        rate_per_s=verdict.rate_per_s,
        why=message("gate_starts", differ=_share(reach)) if withheld and found == "undecided" else _why(verdict),
    )


def _why(verdict: Verdict) -> Message | None:
    """What keeps a verdict open, beside the width of its interval."""
    if verdict.kind == "invalid" and verdict.refusal is not None:
        return verdict.refusal.reason
    return verdict.unsteady or verdict.carried


def _times(log_ratio: float | None) -> float | None:
    return None if log_ratio is None else round(math.exp(log_ratio), 6)


def _share(log_ratio: float | None) -> float | None:
    return None if log_ratio is None else round(math.expm1(log_ratio), 6)


def _lost(log_loss: float | None, verdict: Verdict) -> float | None:
    """A loss as a share of the base: of a rate what is missing of it, of others what is beyond it."""
    sign = -1 if verdict.larger_is_faster else 1
    return None if log_loss is None else round(sign * math.expm1(sign * log_loss), 6) + 0.0


def _said(
    verdict: GateVerdict,
    by: Sequence[FigureName],
    figures: Sequence[GateFigure],
    twin: Sequence[GateFigure],
    why: Message | None,
    *,
    once: bool,
    shown: Message | None,
) -> Message:
    """The verdict as one line: by the figure that shows it most, memory last."""
    if verdict == "invalid":
        apart = next((one for one in twin if one.name in by), None)
        if apart is not None:
            return message("gate_twin_differs", figure=apart.name, change=apart.change)
        return why or message("gate_nothing")
    of = {one.name: one for one in figures}
    open_ = [message("gate_unknown_figure", figure=one.name, change=one.change) for one in unknown(figures)]
    if verdict in ("slower", "faster"):
        sign = 1 if verdict == "slower" else -1
        first = [name for name in by if name != "memory"] or by
        most = max((of[name] for name in first), key=lambda one: sign * (one.slower or 0.0))
        others = [name for name in by if name != most.name]
        if verdict == "slower":
            return message("gate_slower", figure=most.name, change=most.change, others=others)
        return message("gate_faster", figure=most.name, change=most.change, others=others, unknown=open_)
    if verdict == "same":
        bounds = {name: of[name].tolerance for name in by if name in DECIDING} or {n: of[n].tolerance for n in by}
        return message("gate_same", tolerance=max(bounds.values()), figures=list(bounds), once=once, unknown=open_)
    if lost := losses_within_start_noise(deciding(figures)):
        most = max(lost, key=lambda one: one.slower or 0.0)
        return message("gate_withheld", figure=most.name, change=most.change, why=most.why)
    good = [one for one in deciding(figures) if one.verdict in GOOD]
    if good and (doubt := probable_losses(figures)):
        most = max(doubt, key=lambda one: one.slower or 0.0)
        return message(
            "gate_may_be_slower", figure=most.name, change=most.change, good=[one.name for one in good], shown=shown
        )
    seen = [one.visible for one in deciding(figures) if one.visible is not None]
    return message("gate_undecided", visible=min(seen, default=None), shown=shown)


def _machine(environment: Mapping[str, object]) -> dict[str, str]:
    """The few facts that say on what machine it was."""
    places = (*(("machine", key) for key in ("cpu_model", "cpu_count", "architecture")), ("kernel", "release"))
    facts = {key: figure_at(environment, part, key) for part, key in (*places, ("versions", "loadstone"))}
    return {key: str(fact) for key, fact in facts.items() if fact is not None}
