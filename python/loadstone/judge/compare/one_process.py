"""Which parts of a run, under different names, are one process: one Redis by two addresses, or one service.

Where it gets the same requests under both names, its CPU time is no figure of a side. One process that gets other
requests is compared as it should be: by what these cost it.
"""

from collections.abc import Iterator, Sequence

from loadstone.monitors.part_kind import WATCHED
from loadstone.run_folder.facts import HOST, LINK
from loadstone.run_folder.trial import TrialRecord

_Names = tuple[str, ...]
_Identity = frozenset[str]
_NOT_LOADED = (HOST, LINK, "driver")


def with_one_process(trials: Sequence[TrialRecord]) -> list[TrialRecord]:
    """The trials; those whose parts get the same requests under other names, too, with these names."""
    by_identity: dict[_Identity, set[_Names]] = {}
    for trial in trials:
        for identity in _identities(trial):
            by_identity.setdefault(identity, set()).add(_names(trial))
    twice = {identity for identity, names in by_identity.items() if len(names) > 1}
    if not twice:
        return [*trials]
    asked: dict[tuple[_Identity, str], set[_Names]] = {}
    for trial in trials:
        for identity in twice.intersection(_identities(trial)):
            asked.setdefault((identity, _requests(trial)), set()).add(_names(trial))
    return [_with(trial, asked, twice) for trial in trials]


def _with(trial: TrialRecord, asked: dict[tuple[_Identity, str], set[_Names]], twice: set[_Identity]) -> TrialRecord:
    found = twice.intersection(_identities(trial))
    names = {name for identity in found for names in asked[identity, _requests(trial)] for name in names}
    others = tuple(sorted(names - {*_names(trial)}))
    if not others:
        return trial
    return trial.model_copy(update={"facts": trial.facts.model_copy(update={"one_process_with": others})})


def _names(trial: TrialRecord) -> _Names:
    """The servers and applications of a trial; not what stands behind them: that may be found for one side alone."""
    kinds = trial.facts.kinds.items()
    return tuple(sorted(name for name, kind in kinds if kind not in _NOT_LOADED and not kind.startswith(WATCHED)))


def _requests(trial: TrialRecord) -> str:
    plan = trial.facts.plan
    return "" if plan is None else "\n".join(operation.model_dump_json() for operation in plan.operations)


def _identities(trial: TrialRecord) -> Iterator[_Identity]:
    """What says which processes the parts of a trial are: their starts, and where users' services listen.

    Nothing where that of one part is not known. One process may serve other things at another port, as a proxy does.
    """
    loaded, subjects = {*_names(trial)}, trial.facts.subjects.values()
    starts = [start for name, start in trial.facts.starts.items() if name in loaded or name not in trial.facts.kinds]
    if any(not subject.ours and not subject.addresses for subject in subjects):
        return
    addresses = {address for subject in subjects for address in subject.addresses}
    ports = {f":{address.rpartition(':')[2]}" for address in addresses}
    by_start = {start.before for start in starts if start.before is not None}
    if by_start and all(start.before is not None for start in starts):
        yield frozenset(by_start | ports)
    if addresses and loaded == {*trial.facts.subjects}:
        yield frozenset(addresses)
