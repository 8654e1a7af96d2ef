"""What to do after a run, and why."""

from collections.abc import Callable

from loadstone.report.text.english.grammar import several


def _full(undecided: int) -> str:
    why = f"what is undecided ({several(undecided, 'comparison')})" if undecided else "longer trials and every table"
    return f"the full study, for {why}"


NEXT_STEP: dict[str, str | Callable[..., str]] = {
    "next_step": "Next, {why}:",
    "next_doctor": "what this machine lacks for measuring",
    "next_resume": "the run was cut short; resume it",
    "next_more_time": lambda undecided: f"more time may decide what is undecided ({several(undecided, 'comparison')})",
    "next_full": _full,
    "next_tables": "the figures for other programs and for a repository",
}
