"""What a reader must know of a run as a whole."""

from collections.abc import Callable, Sequence

from loadstone.figures import digits
from loadstone.report.text.english.grammar import several


def _cut_short(done: int, needed: int, at_most: bool, folder: str) -> str:
    number = f"at most {needed}" if at_most else f"{needed}"
    return (
        f"{done} of {number} trials are finished: the run was cut short; `loadstone run --resume {folder}` resumes it."
    )


def _judged_otherwise(trials: int) -> str:
    return f"{several(trials, 'trial is', 'trials are')} judged differently by this version than when the run was made."


def _scaled(scale: float) -> str:
    share = f"{digits(100 * scale)} %"
    return f"Scaled: users (where the experiment scales them) and rows are {share} of what the experiment says."


def _measured_again(trials: int, blocks: int) -> str:
    return f"{several(trials, 'trial')} of {several(blocks, 'block')} measured again: only the last counts."


def _speed_varied(cpus: Sequence[str]) -> str:
    return f"The machine's own speed varied between trials (slow tenth over fast tenth): {', '.join(cpus)}."


def _left_out(tables: Sequence[str]) -> str:
    return f"Left out of a quick run: {'; '.join(tables)}."


def _sources(study: str, others: Sequence[str]) -> str:
    """The study, and what else of it is printed, as one list."""
    if not others:
        return study
    *init, last = others
    listed = f"{', '.join(init)}, and {last}" if init else last
    return f"{study}; also {listed}"


def _link(
    server: str,
    requested_ns: int,
    added_ns: Sequence[float],
    cpu_share: float | None,
    in_drives_ns: Sequence[float] = (),
) -> str:
    added = "what it added was not measured"
    if added_ns:
        added = f"it added {_milliseconds(added_ns)} to a round trip before the trials"
    if added_ns and in_drives_ns:
        added = f"{added} and {_milliseconds(in_drives_ns)} during them"
    cpu = "" if cpu_share is None else f"; it used {cpu_share:.0%} of a core on the generator's CPUs"
    return f"Link of {server}: {requested_ns / 1e6:.2f} ms were required, {added}{cpu}."


def _milliseconds(interval_ns: Sequence[float]) -> str:
    middle, low, high = (f"{ns / 1e6:.2f}" for ns in interval_ns)
    return f"{middle} [{low}, {high}] ms"


_WHY_NOT = {
    "missing": "this system has none",
    "disabled": "it is switched off here (kernel.io_uring_disabled)",
    "forbidden": "this process may not use it (seccomp, as in containers)",
    "too_old": "this kernel's is too old, it takes Linux 6.1",
    "no_room": "the system had no memory or files left for it",
    "unsuitable": "this system's does not do what is required",
}


NOTES: dict[str, str | Callable[..., str]] = {
    "note_cut_short": _cut_short,
    "note_beyond_budget": (
        "{left} of {conditions} conditions of the tables were not measured: budget. "
        "`loadstone run --resume {folder} --budget TIME` measures them."
    ),
    "note_measured_again": _measured_again,
    "note_speed_varied": _speed_varied,
    "note_link": _link,
    "note_speed_of_cpu": lambda cpu, spread_share: f"{cpu} by {spread_share:.0%}",
    "note_judged_otherwise": _judged_otherwise,
    "note_scaled": _scaled,
    "note_left_out_of_quick": _left_out,
    "note_engine_build": "The engine is a {profile} build: it measures itself.",
    "note_back_end": lambda reason: f"The generator used epoll in place of io_uring: {_WHY_NOT[reason]}.",
    "note_huge_pages": (
        "Transparent huge pages are `always`: a server that forks then stalls longer; Redis advises `madvise`."
    ),
    "note_overcommit": ("Memory overcommit is 0: a background save of a large data set can fail; Redis advises 1."),
    "note_cpu_limit": "loadstone runs under a limit of {cpus:g} CPUs.",
    "note_frequency_governor": "The CPU's frequency governor is `{governor}`: its clock changes with the load.",
    "note_shared_cpus": "Generator and servers share CPUs on this machine: each takes time from the other.",
    "note_other_runs": (
        "Another run measured on this machine at the same time ({runs:list}): each took time from the other."
    ),
    "published_sources": _sources,
}
