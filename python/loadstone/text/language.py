"""In which language a person is spoken to, and what was written in English in that language.

Texts are whole sentences in English with figures by name; `locale/ko/LC_MESSAGES/loadstone.po` has each in Korean
(gettext; `scripts/texts` collects them). Three ways, of which `text/message.py` has the last:

    _("{runs} runs in {folder}", runs=3, folder=path)    now, for who reads now
    several(runs, "{n} run", "{n} runs")                 the same by number
    said("{option}: no such file", option="--data")      a text in English, as data, which can be said in another later

What is recorded is data and in no language: errors are `said`, and `in_language` says them where they are printed.
What the authors of the studies wrote, and what levels are called (`8 workers`), is English in YAML: `of_author` looks
it up where it is printed.
"""

import contextlib
import gettext
import json
import re
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from functools import cache, cached_property, lru_cache
from pathlib import Path
from string import Formatter
from typing import Any

from loadstone.text.korean_particles import resolve_particles

ENGLISH, KOREAN = "en", "ko"
LANGUAGES = (ENGLISH, KOREAN)
NAMES = {ENGLISH: "English", KOREAN: "한국어"}
_WHOLE_PROCESS = [ENGLISH]
_BY_OPTION: list[str] = []
_here: ContextVar[str | None] = ContextVar("language", default=None)
_PO_PART = re.compile(r'^(msgctxt|msgid|msgid_plural|msgstr(?:\[0\])?) (".*")$|^(".*")$')
_CONTEXT = "\x04"
"""Between context and text in a key, as gettext has it."""
AUTHOR = "author"
"""The context of what stands in the YAML of an experiment: questions, notes, claims; what levels are called."""
_HANGUL = re.compile("[가-힣]")
_FIGURES = {
    "n": r"[<>~]?[\d,.]+",
    "level": r"[\w.,+-]+(?: (?:k?B|MB|[mµ]?s|%))?",
    "side": r"[\w.,:+%/-]+(?: [\w.,:+%/-]+)?",
}
"""What stands for a figure of an author's template, by its name without digits; any text for other names."""
_ENDS = 3
"""Letters by which sentences are found."""
_WORDS_MIN = 5
"""Letters around the figures by which a sentence is known again."""
_ENGLISH = re.compile("[a-z]{3,} [a-z]{2,} [a-z]{2,}")
"""Words that are more than a name: no figure."""
_SPEC = re.compile(r"\{(\w+)[:!][^{}]*\}")
_LIST_MAX = 500
"""Characters of a text up to which it may be a list of levels."""


def language() -> str:
    """The language of who reads now: that of the request or block, else the whole process's."""
    return _here.get() or _WHOLE_PROCESS[0]


def set_language(name: str, *, by_option: bool = False) -> None:
    """Speak a language in the whole process, in all its threads. Raises ValueError for one that there is not.

    `by_option`: the user named it on the command line, so that it counts more than what a browser prefers.
    """
    _WHOLE_PROCESS[0] = _known(name)
    _BY_OPTION[:] = [name] if by_option else []


def by_option() -> str | None:
    """The language that the user named on the command line; None where the locale decides."""
    return next(iter(_BY_OPTION), None)


@contextlib.contextmanager
def use_language(name: str) -> Iterator[None]:
    """A block (a request of a page, data in English) in a language of its own."""
    token = _here.set(_known(name))
    try:
        yield
    finally:
        _here.reset(token)


def of_locale(environment: Mapping[str, str]) -> str:
    """The language that a user's environment asks for: the first that is set of LC_ALL, LC_MESSAGES and LANG."""
    locale = next((environment[name] for name in ("LC_ALL", "LC_MESSAGES", "LANG") if environment.get(name)), "")
    return KOREAN if re.match(r"ko(?:[_.@-]|$)", locale) else ENGLISH


def of_request(accept_language: str) -> str:
    """The language that a browser asks for by Accept-Language: whichever of ours it names with the higher weight."""
    weights = dict.fromkeys(LANGUAGES, 0.0)
    for part in accept_language[:1000].split(","):
        name, _sign, weight = part.strip().partition(";q=")
        name = name.strip().lower().partition("-")[0]
        with contextlib.suppress(ValueError):
            if name in weights:
                weights[name] = max(weights[name], float(weight) if weight else 1.0)
    return KOREAN if weights[KOREAN] > weights[ENGLISH] else ENGLISH


def translated(template: str, context: str = "") -> str:
    """A text without its figures, in the language of now; the same text where it has no translation."""
    if not template or language() == ENGLISH:
        return template
    catalogue = _catalogue(language())
    return catalogue.pgettext(context, template) if context else catalogue.gettext(template)


def _(template: str, /, **figures: Any) -> str:
    """A sentence in the language of now. `figures` are texts already, or take the formats of `str.format`."""
    text = translated(template)
    return with_particles(
        text.format(**{name: in_language(value) for name, value in figures.items()}) if figures else text
    )


def plural(n: int, one: str, many: str, /, **figures: Any) -> str:
    """A sentence with a number `n`: `one` for 1, else `many`. Korean has one form."""
    text = one if n == 1 else many
    if language() != ENGLISH:
        text = _catalogue(language()).ngettext(one, many, n)
    return with_particles(text.format(n=n, **{name: in_language(value) for name, value in figures.items()}))


def translatable(template: str) -> str:
    """Return the text unchanged, and mark it as one that is kept in English and translated where it is shown."""
    return template


def author_text(template: str, /, **figures: Any) -> str:
    """A text of an experiment that a command makes, in English: where it is printed, `of_author` knows its template."""
    return template.format(**figures)


def of_author(text: Any) -> Any:
    """What an experiment says, in the language of now: a text of our studies, or levels as rows name them.

    A text of somebody else's experiment stays as it is.
    """
    if not isinstance(text, str) or not text or language() == ENGLISH:
        return text
    catalogue = _catalogue(language())
    if (whole := catalogue.authored(text)) is not None:
        return whole
    if len(text) > _LIST_MAX or _HANGUL.search(text):
        return text
    for separator in (", ", " x "):
        parts = text.split(separator)
        known = [catalogue.authored(part) for part in parts]
        if any(known):
            return separator.join(korean or part for korean, part in zip(known, parts, strict=True))
    return text


def retold(text: str) -> str:
    """What a run told in English, in the language of now: a sentence of the catalogue, by its words around figures."""
    if language() == ENGLISH or not text or len(text) > _LIST_MAX or _HANGUL.search(text):
        return text
    return _catalogue(language()).retold(text)


def sentence_case(sentence: str) -> str:
    """A sentence with a large letter at its beginning, in a language that begins sentences so."""
    return f"{sentence[:1].upper()}{sentence[1:]}" if language() == ENGLISH else sentence


def with_particles(text: str) -> str:
    """A sentence with its particles, where the language has some."""
    return resolve_particles(text) if language() == KOREAN else text


class Spoken(ABC):
    """A text in no language yet: a `Message`, which needs the sentences, and they need this file."""

    __slots__ = ()

    @abstractmethod
    def spoken(self) -> str:
        """The sentence in the language of now."""


def spoken_by(error: BaseException) -> Spoken | str:
    """What an error says, without secrets where it is one of ours."""
    own = getattr(error, "message", error.args[0] if len(error.args) == 1 else None)
    return own if isinstance(own, Spoken) else str(error)


def in_language(text: Any) -> Any:
    """A text that is `said`, in the language of now; an error by its sentence; anything else as it is."""
    if isinstance(text, BaseException):
        text = spoken_by(text)
    return text.spoken() if isinstance(text, Spoken) else text


def _known(name: str) -> str:
    if name not in LANGUAGES:
        raise ValueError(f"{name}: no language of loadstone; there are {', '.join(LANGUAGES)}")
    return name


class _Catalogue(gettext.NullTranslations):
    """A .po file as it is: nothing has to be compiled before the command speaks, neither here nor in a wheel."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._texts = read_po(path.read_text(encoding="utf-8"))

    def gettext(self, message: str) -> str:
        """The translation of a text; itself if there is none."""
        return self._texts.get(message) or message

    def authored(self, text: str) -> str | None:
        """The translation of what an author wrote, by the text itself or by a template that it follows."""
        if known := self._texts.get(f"{AUTHOR}{_CONTEXT}{text}"):
            return known
        for pattern, template in self._templates:
            if found := pattern.fullmatch(text):
                figures = {name: of_author(value) for name, value in found.groupdict().items()}
                return with_particles(template.format(**figures))
        return None

    @cached_property
    def _templates(self) -> list[tuple[re.Pattern[str], str]]:
        """Those with figures, as patterns: the longest first, since it says most of the text."""
        known = ((key.partition(_CONTEXT)[2], text) for key, text in self._texts.items() if key.startswith(AUTHOR))
        return [(_pattern(key), text) for key, text in sorted(known, key=lambda one: -len(one[0])) if "{" in key]

    @lru_cache(maxsize=2000)  # noqa: B019 -- a catalogue lives as long as its process
    def retold(self, text: str, depth: int = 3) -> str:
        """The translation of a text with its figures; itself if no sentence has its words. A single word is a name."""
        if " " not in text:
            return text
        if known := self._texts.get(text) or self.authored(text):
            return known
        ends = (text[:_ENDS], ""), ("", text[-_ENDS:]), ("", "")
        likely = [one for end in ends for one in self._sentences.get(end, ())] if depth else []
        for literals, names, korean in likely:
            if found := _between(literals, text):
                if names == ["n"] and not re.fullmatch(_FIGURES["n"], found[0]):
                    continue
                figures = {name: self.retold(value, depth - 1) for name, value in zip(names, found, strict=True)}
                begins_within = not literals[0] and ": " in found[0]  # `set, 100 B: 1.5 % of the operations failed`
                if not begins_within and not any(map(_ENGLISH.search, figures.values())):
                    return with_particles(korean.format(**figures))
        about, colon, what = text.partition(": ")
        return f"{about}{colon}{self.retold(what, depth)}" if what else text

    @cached_property
    def _sentences(self) -> Mapping[tuple[str, str], list[tuple[list[str], list[str], str]]]:
        """Words around the figures, the figures' names, and the translation, by how a text begins, or else ends.

        Whichever says most of a text stands first.
        """
        found: list[tuple[list[str], list[str], str]] = []
        for key, korean in self._texts.items():
            if "{" not in key or "{{" in key or _CONTEXT in key or not _HANGUL.search(korean):
                continue
            parts = [(literal, name) for literal, name, _spec, _conversion in Formatter().parse(key)]
            names = [name for _literal, name in parts if name is not None]
            literals = [literal for literal, _name in parts] + ([""] if parts[-1][1] is not None else [])
            known_again = names == ["n"] or sum(map(str.isalpha, "".join(literals))) >= _WORDS_MIN
            if known_again and all(literals[1:-1]) and len(names) == len({*names}):
                found.append((literals, names, _SPEC.sub(r"{\1}", korean)))
        by_ends: defaultdict[tuple[str, str], list[tuple[list[str], list[str], str]]] = defaultdict(list)
        for one in sorted(found, key=lambda one: -sum(map(len, one[0]))):
            first, last = one[0][0][:_ENDS], one[0][-1][-_ENDS:]
            by_ends[(first, "") if len(first) == _ENDS else ("", last if len(last) == _ENDS else "")].append(one)
        return by_ends

    def pgettext(self, context: str, message: str) -> str:
        """Return the translation of a message in a context."""
        return self._texts.get(f"{context}{_CONTEXT}{message}") or self.gettext(message)

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        """The only form there is."""
        return self._texts.get(msgid1) or (msgid1 if n == 1 else msgid2)


def _pattern(template: str) -> re.Pattern[str]:
    """What texts of a template look like."""
    parts = []
    for literal, name, _spec, _conversion in Formatter().parse(template):
        parts.append(re.escape(literal))
        if name is not None:
            parts.append(f"(?P<{name}>{_FIGURES.get(name.rstrip('0123456789'), '.+')})")
    return re.compile("".join(parts), re.DOTALL)


def _between(literals: Sequence[str], text: str) -> list[str] | None:
    """What stands in a text between literals: each begins as early as it can; None where it has others."""
    first, last = literals[0], literals[-1]
    if not (text.startswith(first) and text.endswith(last) and len(text) > len(first) + len(last)):
        return None
    found, at = [], len(first)
    for literal in literals[1:-1]:
        end = text.find(literal, at + 1)
        if end < 0:
            return None
        found.append(text[at:end])
        at = end + len(literal)
    end = len(text) - len(last)
    return [*found, text[at:end]] if at < end else None


@cache
def _catalogue(name: str) -> _Catalogue:
    return _Catalogue(po_file(name))


def po_file(name: str) -> Path:
    """Where the sentences of a language stand."""
    return Path(__file__).parent / "locale" / name / "LC_MESSAGES" / "loadstone.po"


def read_po(content: str) -> dict[str, str]:
    """The translations of a .po file by text (context before it); not those that are marked as unsure or obsolete."""
    texts: dict[str, str] = {}
    entry: dict[str, str] = {}
    part, unsure = "", False
    for line in [*content.splitlines(), ""]:
        found = _PO_PART.match(line)
        if found is None:
            if not line and entry.get("msgid") and entry.get("msgstr") and not unsure:
                context = f"{entry['msgctxt']}{_CONTEXT}" if "msgctxt" in entry else ""
                texts[context + entry["msgid"]] = entry["msgstr"]
                if plural_text := entry.get("msgid_plural"):
                    texts.setdefault(context + plural_text, entry["msgstr"])
            if not line:
                entry, part, unsure = {}, "", False
            unsure = unsure or (line.startswith("#,") and "fuzzy" in line)
            continue
        if found[1]:
            part = found[1].removesuffix("[0]")
        entry[part] = entry.get(part, "") + json.loads(found[2] or found[3])
    return texts


def speak_in_templates(environment: Any) -> None:
    """Give a Jinja environment `_("{n} runs", n=runs)`, `{% trans %}` and their escaping, in the reader's language."""
    environment.add_extension("jinja2.ext.i18n")
    environment.newstyle_gettext = True
    environment.globals |= {"_": _in_page, "gettext": _in_page, "ngettext": _several_in_page}


def _in_page(template: str, /, **figures: Any) -> Any:
    return _filled(translated(template), figures)


def _several_in_page(one: str, many: str, n: int, /, **figures: Any) -> Any:
    text = one if n == 1 else many
    if language() != ENGLISH:
        text = _catalogue(language()).ngettext(one, many, n)
    return _filled(text, {"n": n, "num": n, **figures})


def _filled(text: str, figures: Mapping[str, Any]) -> Any:
    """A text of ours with its figures escaped: `%(name)s`, as `{% trans %}` has them, or `{name}`."""
    from markupsafe import Markup

    given = {name: in_language(value) for name, value in figures.items()}
    if not given:
        return Markup(with_particles(text))
    filled = Markup(text) % given if "%(" in text else Markup(text).format(**given)
    return Markup(with_particles(str(filled)))
