"""What a person reads while a run goes on: what is measured now, what is decided, how long it still takes."""

import time
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import chain, repeat, zip_longest
from types import TracebackType

from rich.console import Console
from rich.live import Live
from rich.text import Text

from loadstone.drivers.outcome import AgentState, Interval
from loadstone.experiment.plan.rounds import Rounds
from loadstone.judge.verdict import CpuCost, Verdict
from loadstone.machine.start_context import LastingStep, Stays, Step, step_subject
from loadstone.monitors.monitor import Sample
from loadstone.report import figure_format as fmt
from loadstone.report.live.events import RunEvents
from loadstone.report.live.live_panel import LiveFigures, View, phase_text
from loadstone.report.tables.columns import MARKS
from loadstone.report.terminal.tables import ROW_STYLES, VERDICT_STYLES
from loadstone.report.verdicts import verdict_text
from loadstone.run_folder.look import Reason
from loadstone.safety import terminal
from loadstone.safety.console import remarks
from loadstone.text.english.figures import blocks_text
from loadstone.text.language import _, translatable, translated
from loadstone.text.message import Message, message, message_identity

_ENDS: dict[Reason, str] = {
    "go on": translatable("not decided yet, more follow"),
    "decided": translatable("decided"),
    "last look": translatable("not decided, and this was the last look"),
    "out of budget": translatable("not decided, and the budget is spent"),
    "carry-over": translatable("not decided, and there is no time for longer slices"),
}
_ENDED = translatable("ended")
_TROUBLE_MAX = 5
"""Number of different reasons of invalid trials that are worth a line; the report has all."""
_PAUSE_S, _LONG_PAUSE_S = 15.0, 60.0
_STEPS_SHOWN = 7
_OFTEN = 10
"""Number of lines that come after short pauses where there is no terminal, then fewer: a long run needs no long log."""


class RunProgress:
    """The display of a run.

    On a terminal it repaints when it is called, at most once a call and never by itself, so that it takes no CPU from
    what is measured. Elsewhere it prints a line now and then. What stays in both: each comparison as it is decided,
    and what the user must know, once. `verbose` adds a line a trial of a table and a line a block of a comparison;
    `quiet` prints nothing but what stays on servers (`provider.Stays`). `events` are told the same, for those who
    follow the run elsewhere.
    """

    def __init__(
        self,
        console: Console | None = None,
        clock: Callable[[], float] = time.monotonic,
        *,
        verbose: bool = False,
        quiet: bool = False,
        events: RunEvents | None = None,
    ) -> None:
        self.events = events or RunEvents(clock)
        self._console = console or remarks()
        self._clock = clock
        self._verbose, self._quiet = verbose, quiet
        self._screen: Live | None = None
        self._known = self.events.known
        self._view = View(clock(), self._known)
        self._block: Counter[str] = Counter()
        self._block_reasons: list[Message] = []
        self._said: set[Hashable] = set()
        """What was remarked already: what each remark was about."""
        self._troubles = 0
        self._printed: dict[tuple[str, int], tuple[object, ...]] = {}
        """Verdicts that were printed, of each pair of a group, without their figures."""
        self._lines, self._line_s = 0, -2 * _LONG_PAUSE_S
        self._steps: list[Message] = []
        """Steps of a search for a load."""

    def __enter__(self) -> "RunProgress":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """The first trial is about to begin."""
        self._view.began_s = self._clock()
        self._open()

    def left(self, seconds: float, at_most: bool) -> None:
        """Show how long the run still takes from now on; `at_most`: it may well end before.
        Infinite seconds: that is not known."""
        self._known.leave(seconds, at_most, self._clock())

    def decided(self, decided: int, of: int) -> None:
        """Show that `decided` of all `of` comparisons are decided."""
        self._known.decided = (decided, of)

    def trial(self, name: str, label: str, place: str) -> None:
        """Trial `name` of condition `label` begins; `place` says where in the run it stands."""
        self._known.place, self._known.label = fmt.plain(place), fmt.plain(label)
        self._view.label, self._view.reports = self._known.label, False
        self._view.now = Text(_("{name}: preparing", name=fmt.plain(name)), style="dim")
        self._view.panel.begin()
        self.events.trial(fmt.plain(name))
        self._refresh()

    def place(self, place: str) -> None:
        """Where in the run it stands now, within what `trial` said."""
        self._known.place = fmt.plain(place)

    def interval(self, interval: Interval, label: str = "") -> None:
        """See `Listener`; one without load is not shown."""
        if (figures := LiveFigures.of(interval)) is not None:
            self.live(figures, label)

    def cost(self, condition: str, trial: str, costs: Mapping[str, CpuCost]) -> None:
        """See `Listener`: it stands in the file of events alone."""
        self.events.cost(condition, trial, costs)

    def live(self, figures: LiveFigures, label: str = "") -> None:
        """What the last second showed; `label`: of the condition, where several take turns."""
        self._view.label = fmt.plain(label) or self._known.label
        self._view.live(figures)
        self._tell_agents()
        self.events.live(self._view.label, figures)
        self._refresh()
        if figures.phase == "measure":
            now = _("{rate} a second, P99 {p99}", rate=fmt.rate(figures.tps), p99=fmt.duration(figures.p99_ns))
            self._beat(f"{self._whose()}{now}, {self._view.panel.figures_text(self._view.label)}")
        else:
            self._beat(f"{self._whose()}{phase_text(figures.phase)}", patience=2)

    def agents(self, states: Sequence[AgentState]) -> None:
        """Show the states of a fleet's agents, which just changed."""
        self._view.panel.agents.states(states)
        self._tell_agents()
        self._refresh()

    def _tell_agents(self) -> None:
        if told := self._view.panel.agents.told(self._view.label):
            self.events.agents(told)

    def sample(self, samples: Sequence[Sample]) -> None:
        """What the monitors observed; shown with the next interval. From any thread."""
        self._known.parts.add(samples)
        self.events.observed()

    def finished(self, verdict: str, reasons: Sequence[Message], *, in_block: bool = False) -> None:
        """The trial ended; `in_block`: its block is reported as a whole. A new reason to refuse one is remarked."""
        self._known.invalid += verdict == "invalid"
        self._view.label = self._known.label
        if in_block:
            self._block[verdict] += 1
            self._block_reasons += reasons
        if self._verbose and not in_block:
            self._ended(verdict, f"{self._view.place}: {self._view.label}", translated(verdict), reasons)
        elif verdict == "invalid" and not self._verbose and reasons:
            self._trouble(reasons[0])
        self._refresh()

    def block(self, place: str) -> None:
        """A block of a comparison ended: all trials that finished with `in_block` since the one before."""
        found, reasons = self._block, self._block_reasons
        self._block, self._block_reasons = Counter(), []
        if not self._verbose or not found:
            return
        worst = next((kind for kind in ("invalid", "suspect") if found[kind]), "valid")
        each = [f"{found[kind]} {translated(kind)}" for kind in ROW_STYLES if found[kind]]
        said = translated(worst) if len(found) == 1 else ", ".join(each)
        self._ended(worst, fmt.plain(place), said, reasons[:1], more=len(reasons) - 1)

    def look(
        self,
        group: str,
        blocks: int,
        reason: Reason,
        verdicts: Sequence[Verdict],
        names: Sequence[str] = (),
        costs: Sequence[Verdict | None] = (),
    ) -> None:
        """A comparison was judged: the verdict of each of its pairs, and what these are called.

        `costs`: where what a request costs alone answers the question of a pair. A verdict that is settled is printed
        once; what is left open when the comparison ends, then.
        """
        self.events.look(group, blocks, reason, verdicts, names, costs)
        leading = [cost or verdict for verdict, cost in zip(verdicts, chain(costs, repeat(None)), strict=False)]
        if self._verbose:
            self._look(group, blocks, reason, leading)
            return
        for place, (verdict, name) in enumerate(zip_longest(leading, names[: len(leading)], fillvalue=None)):
            if verdict is None or (reason == "go on" and verdict.kind == "undecided"):
                continue
            alike = _without_figures(verdict)
            if self._printed.get((group, place)) != alike:
                self._printed[group, place] = alike
                said = verdict_text(verdict, quick=False), VERDICT_STYLES[verdict.kind]
                when = _(" (after {blocks})", blocks=blocks_text(blocks, verdict.unit))
                self._line(Text.assemble(f"{fmt.plain(name or group)}: ", said, when))

    def lengthened(self, group: str, rounds: Rounds | None, carried: Message) -> None:
        """A comparison begins again with these slices, or with whole trials, because of what is carried over."""
        self.events.lengthened(group)
        slice_s = None if rounds is None else rounds.slice_s
        said = fmt.sentence(message("goes_on_longer", slice_s=slice_s, why=carried))
        self._line(Text(f"{fmt.plain(group)}: {said}"))

    def searched(self, users: int, per_s: float) -> None:
        """A step of a search for a load ended."""
        self.events.searched(self._known.label, users=users, per_s=round(per_s, 2))
        self._steps = [*(self._steps if users > 1 else ()), message("progress_step", users=users, per_s=per_s)]
        self._view.trail = fmt.sentence(message("progress_search", steps=self._steps[-_STEPS_SHOWN:]))
        self._refresh()
        self._beat(self._view.trail)

    def rated(self, rate_per_s: float, *, kept: bool) -> None:
        """A rate was offered, and the objective was kept or not."""
        self.events.searched(self._known.label, rate_per_s=round(rate_per_s, 2), kept=kept)
        step = message("progress_rate", rate_per_s=rate_per_s, kept=kept)
        self._steps = [*(one for one in self._steps if one.kind == step.kind), step]
        self._view.trail = fmt.sentence(message("progress_rates_tried", steps=self._steps[-_STEPS_SHOWN:]))
        self._refresh()
        self._beat(self._view.trail)

    def announced(self, label: str, said: Message) -> None:
        """What happens next to a search; it stays, and is said once."""
        if self._is_new((label, said.kind)):
            self._line(Text(fmt.sentence(message("progress_estimate", label=label, sweeps=0, said=said))))

    def estimated(self, label: str, sweeps: int, said: Message) -> None:
        """What the sweeps so far say of the load that is searched for; a verdict of another kind than before stays."""
        text = fmt.sentence(message("progress_estimate", label=label, sweeps=sweeps, said=said))
        self._view.trail = text
        if self._is_new((label, said.kind)) or self._verbose:
            self._line(Text(text))
        self._refresh()

    def forecast(self, group: str, forecast: Message) -> None:
        """What the next look at a comparison would show."""
        self.step(Step(f"{group}: {fmt.sentence(forecast)}", about=f"{group}: {forecast.kind}"))

    def step(self, text: str) -> None:
        """What is done just now outside of trials; a `LastingStep` stays on the screen."""
        if isinstance(text, LastingStep) or self._verbose:
            self.note(text)
            return
        self._view.label, self._view.now = fmt.plain(text), Text()
        self.events.step(self._view.label)
        self._open()
        self._refresh()
        if not self._console.is_terminal and not self._view.place and self._is_new(step_subject(text)):
            self._line(Text(fmt.plain(text)))
        else:
            self._beat(fmt.plain(text))

    def last_step(self, text: str) -> None:
        """What is done when all is measured: no time is left, and no place in the run."""
        self._view.reports = True
        self.events.state("reporting")
        self.step(text)

    def note(self, text: str) -> None:
        """A sentence that stays on the screen; what was said already is not said again."""
        if self._is_new(step_subject(text)):
            self._line(Text(fmt.plain(text)), always=isinstance(text, Stays))

    def note_here(self, text: str) -> None:
        """A sentence for this terminal alone: it stands in no file of the run."""
        self._print(Text(fmt.plain(text)))

    def detail(self, text: str) -> None:
        """A sentence for who wants to know everything."""
        if self._verbose:
            self._line(Text(fmt.plain(text)))

    def stop(self) -> None:
        """Give the terminal back. May be called twice, and without a start."""
        if self._screen is not None:
            self._screen.stop()
            self._screen = None

    def left_text(self) -> str:
        """`about 4 min left`, counted down since it was reported; `at most` where the run may end before."""
        return self._view.left_text(self._clock())

    def _look(self, group: str, blocks: int, reason: Reason, verdicts: Sequence[Verdict]) -> None:
        refused = any(verdict.kind in ("invalid", "not_decidable") for verdict in verdicts)
        end = _ENDED if reason == "decided" and refused else _ENDS[reason]
        head = _(
            "{group}, after {blocks}: {end}",
            group=fmt.plain(group),
            blocks=blocks_text(blocks, verdicts[0].unit if verdicts else "block"),
            end=translated(end),
        )
        if len(verdicts) == 1:
            self._line(Text(f"{head}: {verdict_text(verdicts[0])}"))
            return
        self._line(Text(head))
        for one in verdicts if reason != "go on" else ():
            self._line(Text(f"  {verdict_text(one)}"))

    def _trouble(self, reason: Message) -> None:
        """Why a trial gives no figure, where that was not said before."""
        if self._troubles < _TROUBLE_MAX and self._is_new(message_identity(reason)):
            self._troubles += 1
            said = f"{self._view.label}: {fmt.sentence(reason)}"
            self._line(Text.assemble((f"{MARKS['invalid']} ", ROW_STYLES["invalid"]), said))

    def _ended(self, verdict: str, what: str, said: str, reasons: Sequence[Message], more: int = 0) -> None:
        """A line on what ended, with its mark; elsewhere than on a terminal with the time left."""
        facts = [fmt.sentence(reason) for reason in reasons]
        others = [_("(And {n} more.)", n=more)] if more > 0 else []
        line = " ".join([f"{said}.", *facts, *others]) if facts else said
        unknown = self._known.left_s(self._clock()) is None
        left = "" if self._screen or unknown else f", {self.left_text()}"
        self._line(Text.assemble((f"{MARKS.get(verdict, '?')} ", ROW_STYLES.get(verdict, "")), f"{what}: {line}{left}"))

    def _is_new(self, subject: Hashable) -> bool:
        if subject in self._said:
            return False
        self._said.add(subject)
        return True

    def _whose(self) -> str:
        """The condition before its figures, where the place in the run does not begin with it."""
        label = f"{self._view.label}: "
        return "" if self._view.place.startswith(label) else label

    def _beat(self, now: str, patience: int = 1) -> None:
        """A sign of life where there is no terminal: what happens now, where, and how long it still takes.

        `patience`: so many times the usual pause is waited for something that says more.
        """
        pause_s = _PAUSE_S if self._lines < _OFTEN else _LONG_PAUSE_S
        if self._console.is_terminal or self._verbose or self._clock() - self._line_s < patience * pause_s:
            return
        self._lines, self._line_s = self._lines + 1, self._clock()
        left = self.left_text() if self._view.has_left() else ""
        parts = filter(None, (self._view.place, now, self._view.decided_text(), left))
        self._print(Text("; ".join(parts)))

    def _line(self, text: Text, *, always: bool = False) -> None:
        self.events.log(text.plain)
        self._print(text, always=always)

    def _print(self, text: Text, *, always: bool = False) -> None:
        if not self._quiet:
            self._console.print(text, soft_wrap=not self._console.is_terminal)
        elif always:
            terminal.remark(text.plain)

    def _open(self) -> None:
        if self._console.is_terminal and self._screen is None and not self._quiet:
            self._screen = Live(
                console=self._console, auto_refresh=False, transient=True, redirect_stdout=False, redirect_stderr=False
            )
            self._screen.start()

    def _refresh(self) -> None:
        if self._screen is not None:
            self._screen.update(self._view.render(self._clock(), self._console.width), refresh=True)


def _without_figures(verdict: Verdict) -> tuple[object, ...]:
    """Verdicts that differ in their figures only say the same."""
    check = verdict.refusal.name if verdict.refusal else None
    return verdict.kind, verdict.winner, verdict.materially, verdict.negligible, verdict.hidden, check
