"""`loadstone clean`: removes what killed runs left on servers that are not loadstone's own, by their ledgers.

A ledger holds no password, and none is sent to where it points: what is known of a server beside its address comes from
`--server NAME=URL` alone, and goes to that URL alone. After a failover things are removed where the data are now: at a
server that proves by its replication that it took them over.
"""

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from loadstone.experiment.software import software_by_url
from loadstone.run_folder.earlier_runs import LATEST, RUNS, run_folder
from loadstone.run_folder.files import LEDGER
from loadstone.run_folder.ledger import Copies, CreatedObject, ServerIdentity, describe, describe_place
from loadstone.run_folder.ledger_file import LedgerContent, RunLedger, goes_on, read_ledger, this_machine
from loadstone.safety.bounds.deadlines import LOOK, REMOVAL, deadline
from loadstone.safety.errors import LoadstoneError, UserError
from loadstone.safety.secrets.references import give_files, learn_environment, learn_options, resolve
from loadstone.safety.terminal import printable
from loadstone.servers import registry
from loadstone.servers.control import Control, FailsOver, Standing
from loadstone.servers.leftovers import remove_left
from loadstone.servers.patience import is_busy, patiently
from loadstone.text.language import _, in_language
from loadstone.text.message import said

LEFT_STATUS = 3
TIMEOUT_S = 10.0
PATIENCE_S = 20.0
"""How long a server that is busy, or loads its data, is tried again."""


@dataclass(frozen=True)
class CleanOptions:
    """A server as `--server NAME=URL` names it."""

    place: ServerIdentity
    url: str = field(repr=False)


def clean(
    run: str | None,
    servers: Sequence[str],
    say: Callable[[str], None],
    *,
    secret_files: Sequence[str] = (),
    dry_run: bool = False,
) -> int:
    """Clean up after one run, or all of ./runs; the exit status: 0, or 3 if something stays.

    `servers` are `NAME=URL`, with references to secrets (`secret_files`: `NAME=PATH`) as `loadstone run` takes them.
    `say` gets a line for each thing that was removed, and for each that stays, with the reason.

    Raises:
        UserError: there is no such run, or an option is none.
    """
    learn_environment()
    give_files(secret_files)
    learn_options(servers)
    given = [_given(text) for text in servers]
    folders = [_folder(run)] if run is not None else sorted(_ledgers(RUNS))
    ends = [_clean_run(folder, given, say, dry_run=dry_run) for folder in folders]
    if all(end == "nothing" for end in ends):
        say(_("nothing is left on any server"))
    return LEFT_STATUS if "stays" in ends else 0


def _clean_run(
    folder: Path, given: Sequence[CleanOptions], say: Callable[[str], None], *, dry_run: bool
) -> Literal["nothing", "removed", "stays"]:
    try:
        with closing(RunLedger(folder)) as ledger:
            earlier = ledger.earlier
            if earlier is None or not ledger.left():
                return "nothing"
            if goes_on(earlier):  # the lock is of the file, and this one is a copy
                say(
                    _(
                        "left: {folder}: its run goes on (process {pid}); wait for its end",
                        folder=printable(str(folder)),
                        pid=earlier.process[0],
                    )
                )
                return "stays"
            say(f"{printable(str(folder))}:")
            ends = [_CleanPlace(folder, ledger, place, say).run(given, dry_run=dry_run) for place in ledger.left()]
            return "removed" if all(ends) else "stays"
    except UserError as error:
        say(_("left: {what}", what=printable(in_language(error))))
        return "stays"


@dataclass(frozen=True)
class _CleanPlace:
    """What one run left on one server."""

    folder: Path
    ledger: RunLedger
    place: ServerIdentity
    say: Callable[[str], None]

    def run(self, given: Sequence[CleanOptions], *, dry_run: bool) -> bool:
        """Remove it; whether all of it is gone, or would be."""
        where = describe_place(self.place)
        try:
            copied = _copied(self.ledger, self.place, given)
            if dry_run:
                if not copied.given:
                    self._url(given)
                things = self._unused([self.place])
                for thing in things:
                    self.say(_("  {where}: {thing}: would be removed", where=where, thing=describe(thing)))
                return len(things) == len(self._left())
            places = copied.primaries(lambda: self._url(given))
            self._remove(places, self._unused([place for place, _ in places]))
        except LoadstoneError as error:
            self.say(f"  left: {where}: {', '.join(map(describe, self._left()))}: {printable(str(error))}")
        return not self._left()

    def _remove(self, places: Sequence[tuple[ServerIdentity, str]], things: Sequence[CreatedObject]) -> None:
        """Remove things everywhere; what is gone from all of these places is gone. Raises LoadstoneError."""
        stays: set[CreatedObject] = set()
        for number, (place, url) in enumerate(places, start=1):
            open_ = dict.fromkeys(things)
            carry_out = partial(self._remove_at, place, url, open_, stays, last=number == len(places))
            patiently(carry_out, time.monotonic() + PATIENCE_S, is_busy)

    def _remove_at(
        self,
        place: ServerIdentity,
        url: str,
        things: dict[CreatedObject, None],
        stays: set[CreatedObject],
        *,
        last: bool,
    ) -> None:
        """Remove things at one place; what is dealt with is taken out of `things`."""
        where = describe_place(place)
        with deadline(REMOVAL), _control(place, url) as control:
            for outcome in remove_left(control, self.ledger.run_id, list(things)):
                text = printable(in_language(outcome.text))
                left = _("  left: {where}: {what}", where=where, what=text)
                self.say(left if outcome.left else f"  {where}: {text}")
                del things[outcome.thing]
                if outcome.left:
                    stays.add(outcome.thing)
                elif last and outcome.thing not in stays:
                    self.ledger.removed(self.place, outcome.thing)

    def _left(self) -> list[CreatedObject]:
        return self.ledger.left().get(self.place, [])

    def _url(self, given: Sequence[CleanOptions]) -> str:
        """Return how the server is reached: by the URL that the user gives, or by its address. Raises UserError if
        neither."""
        same_name = [server for server in given if server.place.server == self.place.server]
        known = next((server for server in same_name if server.place.is_at(self.place)), None)
        if known is not None:
            return known.url
        option = f"--server {printable(self.place.server)}"
        if same_name:
            raise UserError(
                "{option}=... is {address}, another server or database",
                option=option,
                address=printable(same_name[0].place.address),
            )
        if self.ledger.earlier is None or self.ledger.earlier.machine != this_machine():
            raise UserError("its run was on another machine; clean there, or add {option}=URL", option=option)
        if self.place.login:
            raise UserError("its login and TLS options are not kept; add {option}=URL", option=option)
        url = _url_of(self.place)
        if url is None:
            raise UserError("this is no address that loadstone writes; add {option}=URL if it is yours", option=option)
        return url

    def _unused(self, places: Sequence[ServerIdentity]) -> list[CreatedObject]:
        """What is left, but for what a run beside this one goes on to use at one of these places."""
        running = [
            (beside.name, ledger)
            for beside in _ledgers(self.folder.resolve().parent)
            if beside.name != self.folder.resolve().name and (ledger := _running(beside)) is not None
        ]
        unused = []
        for thing in self._left():
            users = (
                name for name, ledger in running for p, t in ledger.open if t == thing and any(map(p.is_at, places))
            )
            user = next(users, None)
            if user is None:
                unused.append(thing)
            else:
                self.say(
                    _(
                        "  left: {thing}: the run {name} goes on and uses it; wait for its end",
                        thing=describe(thing),
                        name=printable(user),
                    )
                )
        return unused


@dataclass(frozen=True)
class _Copied:
    """A place whose data another server may have taken over."""

    place: ServerIdentity
    copies: Copies | None
    """None: none are noted, and the place itself is all there is."""
    given: tuple[CleanOptions, ...]
    """Servers at other addresses that the user gives for it: each must prove that it has the data."""
    may_follow: bool
    """Whether addresses are connected to that only the ledger, or a server, names: without a password, on the machine
    of the run."""

    def primaries(self, home: Callable[[], str]) -> list[tuple[ServerIdentity, str]]:
        """Return where the data are now, with URLs: the place itself unless it is a copy, and who took its data over.

        Raises:
            LoadstoneError: `home`, which names the URL of the place, raised it; or nobody answers who has the data.
        """
        if self.copies is None:
            return [(self.place, home())]
        found: list[tuple[ServerIdentity, str]] = []
        addresses, problem = list(self.copies.addresses), None
        try:
            url = home()
            standing = _standing(self.place, url)
            if standing is None or standing.leads:
                found.append((self.place, url))
            elif standing.follows is not None:
                addresses.append(standing.follows)
        except LoadstoneError as error:
            problem = error.message
        for place, url in self._others(addresses):
            with contextlib.suppress(LoadstoneError):
                standing = _standing(place, url)
                if standing is not None and standing.has_taken_over(self.copies.data_set):
                    found.append((place, url))
        if not found:
            raise UserError(
                "{why}; its data were copied to {copies}, where no primary answers that has them: add --server "
                "{name}=URL of the one that took over",
                why=problem or said("it is a replica by now"),
                copies=printable(", ".join(dict.fromkeys(addresses)) or "?"),
                name=printable(self.place.server),
            )
        return found

    def _others(self, addresses: Sequence[str]) -> list[tuple[ServerIdentity, str]]:
        """Other servers to ask, each once: with what the user gives for it, or without a password."""
        others = [(one.place, one.url) for one in self.given]
        for address in dict.fromkeys(addresses) if self.may_follow else ():
            place = ServerIdentity(self.place.server, address, login=False)
            url = _url_of(place)
            known = (self.place, *(other for other, _ in others))
            if url is not None and _is_beside(place, self.place) and not any(map(place.is_at, known)):
                others.append((place, url))
        return others


def _copied(ledger: RunLedger, place: ServerIdentity, given: Sequence[CleanOptions]) -> _Copied:
    copies, earlier = ledger.copies.get(place), ledger.earlier
    beside = tuple(one for one in given if one.place.server == place.server and _is_beside(one.place, place))
    here = earlier is not None and earlier.machine == this_machine()
    return _Copied(place, copies, beside if copies is not None else (), here and not place.login)


def _is_beside(place: ServerIdentity, home: ServerIdentity) -> bool:
    """Whether a place is the same database of another server of the same kind."""
    schemes = {one.address.partition("://")[0].removesuffix("s") for one in (place, home)}
    numbers = {one.address.rpartition("/")[2] for one in (place, home)}
    return len(schemes) == len(numbers) == 1 and not place.is_at(home)


def _standing(place: ServerIdentity, url: str) -> Standing | None:
    """Return how a server stands to its copies; None for software that has none. Raises LoadstoneError."""
    with deadline(LOOK), _control(place, url) as control:
        return control.standing(place.server) if isinstance(control, FailsOver) else None


def _running(folder: Path) -> LedgerContent | None:
    """The ledger of a run that goes on; None of any other."""
    try:
        ledger = read_ledger(folder)
    except UserError:
        return None
    return ledger if ledger is not None and goes_on(ledger) else None


def _control(place: ServerIdentity, url: str) -> Control:
    kind = software_by_url(url).url_kind
    return registry.make_server(place.server, {"kind": kind, "url": url}).control(TIMEOUT_S)


def _given(text: str) -> CleanOptions:
    name, equals, url = text.partition("=")
    if not equals or not name or not url:
        raise UserError("--server {equals}: write NAME=URL", equals=f"{name}=..." if equals else "...")
    try:
        url = resolve(url)
        return CleanOptions(_place(name, url), url)
    except UserError as error:
        raise UserError("--server {name}=...: {error}", name=name, error=error) from None


def _place(name: str, url: str) -> ServerIdentity:
    """Where a URL leads. Raises UserError."""
    return registry.room(software_by_url(url).name).place(name, url)


def _url_of(place: ServerIdentity) -> str | None:
    """The URL of a place that nothing but its address is needed for; None of an address that no ledger has."""
    try:
        url = _plain_url(place.address)
        return url if _place(place.server, url) == place else None
    except UserError:
        return None


def _plain_url(address: str) -> str:
    scheme, _, rest = address.partition(":")
    if scheme != "unix":
        return address
    path, _, number = rest.rpartition("/")
    return f"unix://{quote(path)}?db={quote(number)}"


def _folder(word: str) -> Path:
    """The run's folder: a path, `latest`, or a name under ./runs. Raises UserError."""
    folder = run_folder(word)
    if word != LATEST and not folder.is_dir() and os.sep not in word:
        folder = RUNS / word
    if not folder.is_dir():
        raise UserError(
            "{word}: there is no such folder; name a run's, or none for all of ./{runs}", word=word, runs=RUNS
        )
    return folder


def _ledgers(root: Path) -> Iterator[Path]:
    return (path for path in root.glob("*") if os.path.lexists(path / LEDGER)) if root.is_dir() else iter(())
