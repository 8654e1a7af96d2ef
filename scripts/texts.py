"""Collects the sentences of the package for translation.

They are the literals in `_(...)`, `said(...)`, `plural(...)` and `translatable(...)`, in Python and in templates; those
of errors (`UserError(...)`, `Problem(...)`); the templates of the report's catalogue; and the help of the command line.
The .po files have no dates and no line numbers, so that they change where a sentence does.
"""

import ast
import io
import re
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from babel.messages import Catalog
from babel.messages.pofile import read_po, write_po
from jinja2.ext import babel_extract

from loadstone.text.language import AUTHOR

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "python" / "loadstone"
LOCALES = ("ko",)
ONE = {"_", "said", "said_as", "translatable", "translated"}
HEADER = "# The sentences of loadstone. `scripts/texts` collects them; translate what stands behind msgstr.\n"
WRITTEN = ("question", "title", "note", "description", "claim", "answer", "source", "then")
"""The fields of an experiment that are prose."""
PAIR_CHECKS = ("carry_over", "error_difference", "offered_rate", "order_effect", "replication", "samples")
"""Checks of comparisons and of saturation points, which no table declares."""
COUNTED = (
    "% of the time",
    "points",
    "users",
    "clients",
    "connections",
    "threads",
    "keys",
    "rounds",
    "blocks",
    "trials",
    "nodes",
    "slices",
)
"""What is counted often: units of checks of comparisons, and of the factors of others' experiments."""
DATES = ("POT-Creation-Date", "PO-Revision-Date", "Generated-By", "Last-Translator", "Language-Team", "Report-Msgid")
Text = tuple[str, str | tuple[str, str], str]
"""The file that has a sentence, and the sentence; singular and plural where it has a number; its context, or ""."""

Found = tuple[str, str | tuple[str, str]]
"""The same without its context."""


def texts() -> list[Text]:
    """Every sentence once, by file and place."""
    plain = dict.fromkeys((*in_catalogue(), *in_tables(), *in_python(), *in_templates(), *in_help()))
    authors = dict.fromkeys((*in_experiments(), *in_units(), *in_labels(), *in_commands()))
    seen: dict[tuple[str, str], Text] = {}
    for context, found in (("", plain), (AUTHOR, authors)):
        for file, text in found:
            key = (context, text if isinstance(text, str) else text[0])
            if key[1].strip() and (key not in seen or not isinstance(text, str)):
                seen[key] = (file, text, context)
    return sorted(seen.values(), key=lambda one: one[0])


@cache
def trees() -> dict[Path, ast.Module]:
    """The package's own code, by file."""
    return {
        path: ast.parse(path.read_text())
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.name != "language.py" and path.relative_to(PACKAGE).parts[0] not in ("subjects", "clients")
    }


@cache
def errors() -> frozenset[str]:
    """The classes of errors: what is derived from `SaidError` takes a template, as `said` does."""
    classes = [node for tree in trees().values() for node in tree.body if isinstance(node, ast.ClassDef)]
    bases = {(one.name, *(getattr(base, "id", "") for base in one.bases)) for one in classes}
    found = {"SaidError"}
    while more := {name for name, *of in bases if found & {*of}} - found:
        found |= more
    return frozenset(found)


@cache
def calls() -> list[tuple[Path, ast.Call, str]]:
    """Where the code marks a text: the call and the name of what it calls. Of an error that is `said`."""
    found = []
    for path, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
                if name in (*ONE, "plural", "tooltip", "author_text"):
                    found.append((path, node, name))
                elif name in errors():
                    found.append((path, node, "said"))
    return found


def in_python() -> Iterator[Found]:
    """Literals that are marked in the code. Raises ValueError for one that cannot be translated."""
    for path, node, name in calls():
        literals = [one.value if isinstance(one, ast.Constant) else None for one in node.args]
        if name in ONE and literals and isinstance(literals[0], str):
            yield _place(path), literals[0]
        elif name in ONE and node.args and isinstance(node.args[0], ast.JoinedStr):
            raise ValueError(f"{path}:{node.lineno}: {name}(f'...') cannot be translated; name its figures")
        elif name == "tooltip":  # the names of its lines
            yield from ((_place(path), one.arg) for one in node.keywords if one.arg)
        elif name == "plural" and len(literals) >= 3 and isinstance(literals[1], str):
            yield _place(path), (literals[1], str(literals[2]))


def of_errors() -> set[str]:
    """Those that are only said by errors."""
    found: dict[str, set[bool]] = {}
    for _path, node, name in calls():
        first = node.args[0] if node.args else None
        if name in ONE and isinstance(first, ast.Constant) and isinstance(first.value, str):
            found.setdefault(first.value, set()).add(name in ("said", "said_as"))
    return {text for text, kinds in found.items() if kinds == {True}}


def in_templates() -> Iterator[Found]:
    """Those of the templates of pages."""
    for path in sorted((*PACKAGE.rglob("templates/*.j2"), *PACKAGE.rglob("templates/*.html"))):
        options = {"trimmed": "false", "newstyle_gettext": "true", "silent": "false", "trim_blocks": "true"}
        with path.open("rb") as file:
            for _line, _function, message, _comments in babel_extract(file, ("_", "gettext", "ngettext"), (), options):
                given = [one for one in (message if isinstance(message, tuple) else (message,)) if one]
                if given:
                    yield _place(path), given[0] if len(given) == 1 else (given[0], given[1])


def in_catalogue() -> Iterator[Found]:
    """The report's sentences that are templates, and the terms that it explains."""
    from loadstone.text import english
    from loadstone.text.english.glossary import TERMS
    from loadstone.text.sentences import CATALOGUES, ENGLISH

    where = {}
    for path in (*sorted(Path(english.__file__).parent.glob("*.py")), *sorted(PACKAGE.glob("addons/*/texts.py"))):
        where |= {node.value: _place(path) for node in ast.walk(ast.parse(path.read_text())) if _is_text(node)}
    for catalogue in (ENGLISH, *(of_add_on for _, of_add_on in CATALOGUES.items())):
        for sentence in catalogue.values():
            if isinstance(sentence, str) and sentence != "{text}":
                yield where[sentence], sentence
    for terms in TERMS.values():
        for text in (*terms, *terms.values()):
            yield "python/loadstone/text/english/glossary.py", text


def in_tables() -> Iterator[Found]:
    """Headings and explanations of columns, of the metrics' too; what verdicts and checks are called."""
    from loadstone.judge.checks.checks import CHECKS
    from loadstone.monitors import catalogue
    from loadstone.report.tables import columns

    for column in (*columns.USUAL, *columns.COLUMNS.values()):
        yield from (("python/loadstone/report/tables/columns.py", text) for text in (column.header, column.explanation))
    for metric in catalogue.METRICS.values():
        if metric.column is not None:
            own = (metric.column.table.title, metric.column.title, metric.column.help)
            yield from (("python/loadstone/monitors/metric.py", text) for text in own)
    for word in ("valid", "suspect", "invalid", "unknown", "missing"):
        yield "python/loadstone/report/tables/columns.py", word
    for check in CHECKS:
        yield "python/loadstone/report/summary.py", check.name.replace("_", " ")
    for name in PAIR_CHECKS:
        yield "python/loadstone/report/summary.py", name.replace("_", " ")


def in_commands() -> Iterator[Found]:
    """Texts of the experiments that commands make of their options."""
    for path, node, name in calls():
        first = node.args[0] if node.args else None
        if name == "author_text" and isinstance(first, ast.Constant):
            yield _place(path), str(first.value)


def in_experiments() -> Iterator[Found]:
    """What the authors of the built-in experiments wrote, as reports and pages print it."""
    from loadstone.experiment.spec import loading

    def of(value: object) -> Iterator[str]:
        if isinstance(value, dict):
            yield from (text for name in WRITTEN if isinstance(text := value.get(name), str))
        for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            yield from of(inner)

    for path in (*sorted((ROOT / "experiments").glob("*.yaml")), PACKAGE / "cli" / "first_experiment.yaml"):
        yield from ((_place(path), text) for text in of(loading.read_yaml(path.read_text())[0]) if "{" not in text)


def in_units() -> Iterator[Found]:
    """What checks count."""
    from loadstone.judge.checks.checks import CHECKS
    from loadstone.report.figure_format import SCALED_UNITS, singular

    units = {check.limit.unit for check in CHECKS if check.limit is not None} | {*COUNTED}
    for unit in sorted(units - {*SCALED_UNITS, "", "us", "bytes/s"}):
        yield from (("python/loadstone/judge/checks/checks.py", f"{{n}} {one}") for one in (unit, singular(unit)))


def in_labels() -> Iterator[Found]:
    """What levels of the built-in experiments are called that are not names alone: `{n} workers`, `client {level}`."""
    from loadstone.experiment.plan.labels import condition_label
    from loadstone.experiment.spec.built_in import FOLDER
    from loadstone.experiment.spec.loading import load_experiment

    for path in (*sorted(FOLDER.glob("*.yaml")), PACKAGE / "cli" / "first_experiment.yaml"):
        experiment = load_experiment(path)
        for factor, found in experiment.factors.items():
            for level in found.levels:
                text = condition_label(experiment, {factor: level}, [factor])
                if isinstance(level, bool):
                    yield _place(path.resolve()), text
                elif isinstance(level, str) and (known := text.removesuffix(level)):
                    yield _place(path.resolve()), f"{known}{{level}}"
                elif not isinstance(level, str) and re.search("[a-z]{3}", text):
                    yield _place(path.resolve()), re.sub(r"[\d,.]+", "{n}", text)


def in_help() -> Iterator[Found]:
    """The help of each command, its options, and their headings."""
    import typer

    from loadstone.cli.main import whole
    from loadstone.cli.options import PANELS

    yield from (("python/loadstone/cli/options.py", panel) for panel in PANELS)

    def of(command: object) -> Iterator[str]:
        for text in (getattr(command, "help", None), getattr(command, "short_help", None)):
            if text:
                yield text
        for parameter in getattr(command, "params", ()):
            if help_ := getattr(parameter, "help", None):
                yield help_
        for inner in getattr(command, "commands", {}).values():
            yield from of(inner)

    yield from (("python/loadstone/cli/main.py", text) for text in of(typer.main.get_command(whole())))


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _place(path: Path) -> str:
    return str(path.relative_to(ROOT))


def po_path(locale: str) -> Path:
    """The file of a language."""
    return PACKAGE / "text" / "locale" / locale / "LC_MESSAGES" / "loadstone.po"


def renewed(locale: str, collected: Iterable[Text]) -> tuple[str, list[str]]:
    """The .po file as it should be, and the sentences that it lacks."""
    path = po_path(locale)
    before = read_po(io.BytesIO(path.read_bytes()), locale=locale) if path.exists() else Catalog(locale=locale)
    now = Catalog(locale=locale, project="loadstone", charset="utf-8", fuzzy=False, header_comment=HEADER)
    missing = []
    for file, text, context in collected:
        old = before.get(text if isinstance(text, str) else text[0], context or None)
        string = old.string if old is not None else ""
        if isinstance(text, tuple):
            string = string if isinstance(string, tuple) else (string,)
        elif isinstance(string, tuple):
            string = string[0]
        now.add(text, string, [(file, 1)], flags=(old.flags & {"fuzzy"}) if old else (), context=context or None)
        if not any(string if isinstance(string, tuple) else (string,)):
            missing.append(text if isinstance(text, str) else text[0])
    written = io.BytesIO()
    write_po(written, now, width=120, include_lineno=False, sort_by_file=False)
    lines = written.getvalue().decode().splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith(tuple(f'"{name}' for name in DATES))), missing


def main() -> int:
    """Write, or with --check only compare; 1 where something is missing."""
    collected = texts()
    wrong = False
    for locale in LOCALES:
        content, missing = renewed(locale, collected)
        path = po_path(locale)
        if "--check" not in sys.argv:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != content:
            print(f"{path.relative_to(ROOT)}: out of date; run scripts/texts")
            wrong = True
        for text in missing:
            print(f"{locale}: {text!r}")
        print(f"{locale}: {len(collected)} sentences, {len(missing)} without translation", file=sys.stderr)
        wrong = wrong or bool(missing)
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
