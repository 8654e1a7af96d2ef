"""Earlier runs: the folder that a word names, and the command that a run was started with."""

import difflib
import itertools
import os
import shlex
import stat
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loadstone.run_folder.files import ENVIRONMENT, EXPERIMENT, PLAN, require_run, run_folders
from loadstone.safety.bounds.files import exists, read_json
from loadstone.safety.bounds.folder_files import NotOfFolder, open_file
from loadstone.safety.bounds.replies import shortened
from loadstone.safety.errors import UserError
from loadstone.safety.secrets.in_texts import REDACTED
from loadstone.text.message import AnyText, said

RUNS = Path("runs")
"""Where runs are, unless `--out` says otherwise."""
LATEST = "latest"
"""Names the newest run wherever a run's folder is expected."""
_KEEPING_NO_SECRET = ("--server", "--subject", "--set")
"""Options whose values may hold a secret, which is then to be given again."""
OF_ONE_START = {"--json", "--open", "--quiet", "--verbose", "--wait", "--watch"}
"""Switches that say how a run is shown, and not what it measures."""
ENVIRONMENT_BYTES = 8 * 1024 * 1024
COMMAND_MAX = 64_000
"""Characters of a recorded command: the time that `shlex` takes grows with the square of a word's length."""
NEVER_TAKEN = {"--allow-any-command", "--share-machine", "--trust"}
"""Switches that must be meant each time, and so are not taken from a folder, which may be another's."""
WRITES = ("--json-out-file", "--hdr-file-prefix")
"""Options that name files to write. A folder, which may be another's, does not say where something is written."""
NOT_OF_FOLDERS = (*WRITES, "--prometheus", "--no-keep")
"""Nor does it open a port or remove the run: that these are left out is said."""
TAKEN = frozenset(
    {
        *(
            "--against",
            "--arrivals",
            "--at-rate",
            "--blocks",
            "--body",
            "--body-file",
            "--budget",
            "--cacert",
            "--cert",
        ),
        *("--channels", "--command", "--command-ratio", "--commands", "--connections", "--consumers", "--data"),
        *("--data-size", "--data-size-list", "--data-size-range", "--documents", "--driver", "--duration", "--expect"),
        *("--expect-text", "--fail-if", "--header", "--host", "--iterations", "--key", "--key-maximum"),
        *("--key-pattern", "--key-stddev", "--key-zipf-exp", "--keys", "--keyspace", "--load", "--method", "--model"),
        *("--objective", "--only", "--out", "--part", "--path", "--pipeline", "--pool", "--port", "--ramp", "--rate"),
        *("--rate-limiting", "--rates", "--ratio", "--read-from", "--repeat", "--replay", "--request-file"),
        *("--requests", "--rps", "--scale", "--secret-file", "--seed", "--server", "--set", "--slice", "--sni"),
        *("--speed", "--streams", "--subject", "--subscribers", "--sweeps", "--test-time", "--tests", "--think"),
        *("--threads", "--timeout", "--uri", "--user", "--users-max", "--value-size", "--vus", "--warm-up", "--zipf"),
        *("-D", "-H", "-P", "-R", "-X", "-a", "-c", "-d", "-h", "-i", "-m", "-n", "-p", "-r", "-t", "-u", "-z"),
    }
)
"""Options with a value that a folder's command may have: they say what is measured. What may not stand here is not
taken, so each new option is decided about (`tests/run_folder/test_earlier_runs.py`)."""
TAKEN_SWITCHES = frozenset(
    {
        *("--as-published", "--cluster", "--csv", "--insecure", "--latency", "--no-load", "--precise", "--quick"),
        *("--resp3", "--tls", "--twin", "--verify", "-3"),
    }
)
"""Options that are taken, without a value."""
FLEET = ("--fleet", "--lost-agent")
"""Nor does it say to which machines is logged in, and that they are sent passwords."""
_LEFT_OUT = frozenset({*WRITES, *FLEET, "--prometheus", "--resume"})
"""Options with a value that are known, and not taken."""
_LEFT_OUT_SWITCHES = frozenset({*OF_ONE_START, *NEVER_TAKEN, "--no-keep", "-q"})
_LETTERS = frozenset({"-3", "-q"})
"""Options of one letter without a value; of `http`, `-q` has one."""
_SENDS_FILE = ("-D", "--body-file", "--commands", "--request-file")
"""Options that name a file whose text becomes a part of the load; so does `--body @FILE`."""


def run_folder(word: str | Path, root: Path = RUNS) -> Path:
    """The folder that a word names: a path, or `latest`, the newest of `root`. Raises UserError."""
    if str(word) != LATEST:
        _require_no_slip(Path(word))
        return Path(word)
    newest = next(iter(run_folders(root)), None)
    if newest is None:
        raise UserError(
            "{latest}: there is no run in {root}; `loadstone run EXPERIMENT` makes one", latest=LATEST, root=root
        )
    return newest


def require_folder_of_runs(folder: Path, option: str = "") -> None:
    """Returns if there is this folder; the usual one is made by the first run. Raises UserError.

    `option`: what an error begins with.
    """
    try:
        there = folder.is_dir()
    except OSError:  # a name that is too long
        there = False
    if not there and folder != RUNS:
        raise UserError(
            "{option}{folder}: there is no such folder; name one of runs, or none for ./{runs}",
            option=option,
            folder=folder,
            runs=RUNS,
        )


def _require_no_slip(path: Path) -> None:
    """Returns unless a name that is nowhere is one that is nearly `latest`. Raises UserError."""
    if not exists(path) and difflib.get_close_matches(str(path)[:80], [LATEST]):
        raise UserError("{path}: there is no such folder; did you mean '{latest}'?", path=path, latest=LATEST)


def folder_to_resume(word: str | Path, root: Path = RUNS, option: str = "--resume") -> Path:
    """Return the folder of a run to go on with. Its folder says which commands are run, so only this user may have
    written it.

    `option`: what an error begins with.

    Raises:
        UserError: it is another user's, or every user may write to it.
    """
    folder = run_folder(word, root)
    try:
        status = folder.stat()
    except (OSError, ValueError) as error:  # a path with a NUL in it is no path
        why = error.strerror if isinstance(error, OSError) else said("no file is called so")
        raise UserError(
            "{option} {folder}: {why}; `loadstone runs` lists the runs that there are",
            option=option,
            folder=folder,
            why=why,
        ) from None
    require_run(folder, f"{option} ", [PLAN])
    if status.st_uid != os.geteuid():
        raise UserError(
            "{option} {folder}: it belongs to the user with the id {st_uid}, and would decide what you run; "
            "go on as that user, or run it again",
            option=option,
            folder=folder,
            st_uid=status.st_uid,
        )
    if status.st_mode & stat.S_IWOTH:
        raise UserError(
            "{option} {folder}: every user may write to it, and it decides what you run; look at it, then: chmod o-w",
            option=option,
            folder=folder,
        )
    return folder


def command_of(folder: Path, given: Sequence[str] = ()) -> list[str]:
    """The command and options with which the run was started, behind `loadstone`; how it was shown is left out.

    An option that held a secret must be among those `given` now: the folder keeps no secret.
    An experiment's file that is gone is replaced by the folder's copy. Raises UserError.
    """
    require_run(folder, "--resume ", [PLAN])
    command = _document(folder / ENVIRONMENT).get("command")
    if isinstance(command, str) and len(command) > COMMAND_MAX:
        raise UserError(
            "--resume {folder}: its command is longer than {most:,} characters; give the whole command that started "
            "the run",
            folder=folder,
            most=COMMAND_MAX,
        )
    arguments = options_given(command)
    if arguments is None:
        raise UserError("--resume {folder}: its command was not recorded; name the experiment, too", folder=folder)
    kept: list[str] = []
    for word in _without_given(_taken(folder, arguments), given):
        if REDACTED in word:
            option = kept.pop() if kept and kept[-1] in _KEEPING_NO_SECRET else ""
            _require_given(folder, option, word, given)
        else:
            kept.append(_copy_if_gone(word, folder))
    return kept


def written_by(folder: Path, given: Sequence[str]) -> list[str]:
    """The options of the run's command that are not taken from its folder, and whose absence is to be said."""
    arguments = options_given(_document(folder / ENVIRONMENT).get("command")) or []
    named = {word.partition("=")[0] for word in given}
    return [option for option in NOT_OF_FOLDERS if option in {one.name for one in words_of(arguments)} - named]


def files_sent(arguments: Sequence[str]) -> list[str]:
    """The files whose text these options put into the load."""
    files: list[str] = []
    for one in words_of(arguments):
        files += [one.value] if one.name in _SENDS_FILE and one.value else []
        files += [one.value[1:]] if one.name == "--body" and one.value.startswith("@") else []
    return files


@dataclass(frozen=True)
class CommandWord:
    """An option of a command line, or another word of it."""

    name: str
    """Empty where it is no option."""
    value: str
    written: tuple[str, ...]
    """The words of the command line, without switches that are left out."""


def words_of(arguments: Sequence[str]) -> Iterator[CommandWord]:
    """The words of a command line, as its parser takes them: an option with its value, in one word or in two."""
    letters = _LETTERS - {"-q"} if arguments[:1] == ["http"] or arguments[:2] == ["saturate", "http"] else _LETTERS
    words, only_words = iter(arguments), False
    for word in words:
        if only_words or not word.startswith("-") or word == "-":
            yield CommandWord("", word, (word,))
        elif word == "--":
            only_words = True
            yield CommandWord("", word, (word,))
        elif word.startswith("--"):
            name, equals, value = word.partition("=")
            if equals or name not in TAKEN | _LEFT_OUT:
                yield CommandWord(name, value, (word,))
            else:
                value = next(words, "")
                yield CommandWord(name, value, (word, value))
        else:
            yield from _of_letters(word, letters, words)


def _of_letters(word: str, switches: Collection[str], words: Iterator[str]) -> Iterator[CommandWord]:
    """Options of one letter, of which all but the last have no value: `-3n10`, `-qaPASSWORD`."""
    for at in range(1, len(word)):
        name, rest = f"-{word[at]}", word[at + 1 :]
        if name in switches:
            yield CommandWord(name, "", (name,))
        elif rest or name not in {*TAKEN, "-q"}:
            yield CommandWord(name, rest, (f"{name}{rest}",))
            return
        else:
            value = next(words, "")
            yield CommandWord(name, value, (name, value))


def _taken(folder: Path, arguments: Sequence[str]) -> Iterator[str]:
    """The recorded words of which it is known that they say what is measured.

    Raises:
        UserError: there is an option that loadstone does not know.
    """
    http = arguments[:1] == ["http"] or arguments[:2] == ["saturate", "http"]
    for one in words_of(arguments):
        if not one.name or one.name in TAKEN | TAKEN_SWITCHES or (one.name == "-q" and http):
            yield from one.written
        elif one.name not in _LEFT_OUT | _LEFT_OUT_SWITCHES:
            raise UserError(
                "--resume {folder}: {option} is not taken from a run's folder; give the whole command that started "
                "the run",
                folder=folder,
                option=shortened(one.name, 40),
            )


def _without_given(arguments: Iterable[str], given: Sequence[str]) -> Iterator[str]:
    """The recorded words without the servers and subjects that are given again: what is said now counts."""
    again = {(option, value.partition("=")[0]) for option, value in itertools.pairwise(given) if "=" in value}
    words = iter(arguments)
    for word in words:
        if word not in ("--server", "--subject"):
            yield word
        elif (word, (value := next(words, "")).partition("=")[0]) not in again:
            yield from (word, value)


def options_given(command: object) -> list[str] | None:
    """The words behind `loadstone` of a recorded command that measures; None where it is none."""
    try:
        arguments = shlex.split(command) if isinstance(command, str) and len(command) <= COMMAND_MAX else []
    except ValueError:
        return None
    measures = arguments[:1] == ["loadstone"] and arguments[1:2] in (["run"], ["saturate"], ["redis"], ["http"])
    return arguments[1:] if measures else None


def hides_secret(arguments: Sequence[str]) -> bool:
    """Whether a secret in a recorded command was replaced: then it does not work as it stands."""
    return any(REDACTED in word for word in arguments)


def _require_given(folder: Path, option: str, word: str, given: Sequence[str]) -> None:
    """What was hidden must be given again. `option` is empty where it stands in the word. Raises UserError."""
    if not option:
        option, _, word = word.partition("=")
    name = "" if "://" in word.partition("=")[0] else word.partition("=")[0]
    values = [one.removeprefix(f"{option}=") for one in given]
    if option not in _KEEPING_NO_SECRET or not any(_is_same(option, name, value) for value in values):
        what = said("the password of {name}", name=name) if name else said("the password of the subject")
        remedy: AnyText = f"{option} {name}{'=' if name else ''}URL"
        if option == "--set":
            what, remedy = said("the secret in --set {name}", name=name), f"--set {name}=VALUE"
        elif option not in _KEEPING_NO_SECRET:
            what = said("a secret in '{word}'", word=word or option)
            remedy = said("the whole command that started the run")
        raise UserError(
            "--resume {folder}: {what} is not kept; add {remedy}, and next time give it as ${{env:NAME}}",
            folder=folder,
            what=what,
            remedy=remedy,
        )


def _is_same(option: str, name: str, value: str) -> bool:
    """Whether a word that is given now sets what was hidden."""
    return value.startswith(f"{name}=") if name else option == "--subject" and "://" in value


def _copy_if_gone(word: str, folder: Path) -> str:
    names_file = word.endswith((".yaml", ".yml")) and not word.startswith("-") and "=" not in word
    if not names_file or exists(Path(word)):
        return word
    try:
        os.close(open_file(folder / EXPERIMENT))
    except NotOfFolder as error:
        raise UserError("--resume {folder}: {error}", folder=folder, error=error) from None
    except OSError:
        pass  # what is wrong with it is said where it is read
    return str(folder / EXPERIMENT)


def _document(file: Path) -> dict[str, Any]:
    """The object in a JSON file; an empty one where there is none that can be read."""
    try:
        document = read_json(file, ENVIRONMENT_BYTES)
    except (OSError, ValueError):
        return {}
    return document if isinstance(document, dict) else {}
