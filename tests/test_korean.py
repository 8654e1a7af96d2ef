"""Korean is complete: each sentence that a person reads, with the same figures, in words that are Korean."""

import ast
import importlib.util
import io
import re
import subprocess
import sys
from collections.abc import Iterator, Set
from functools import cache
from pathlib import Path
from string import Formatter
from types import ModuleType
from typing import Any

import pytest
from babel.messages.pofile import read_po

from loadstone.experiment.spec.loading import load_experiment
from loadstone.machine.installed_programs import Fact
from loadstone.safety.errors import UserError
from loadstone.text.language import in_language, po_file, use_language
from loadstone.text.message import said

from .calling import called
from .korean_terms import CODE, IN_COMMANDS, KNOWN, NAMES, english_in

ROOT = Path(__file__).parents[1]
ERRORS_WITHOUT = 0
"""So many messages of errors have no Korean yet, and are said in English; may only fall."""


@cache
def texts() -> ModuleType:
    spec = importlib.util.spec_from_file_location("texts", ROOT / "scripts" / "texts.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def entries() -> dict[tuple[str, str], Any]:
    """Context and text -> the entry."""
    return {
        (one.context or "", one.id if isinstance(one.id, str) else one.id[0]): one for one in _catalogue() if one.id
    }


def _catalogue() -> Any:
    return read_po(io.BytesIO(po_file("ko").read_bytes()), locale="ko")


def korean(one: Any) -> str:
    string = one.string[0] if isinstance(one.string, tuple) else one.string
    return string or ""


def figures(text: str) -> set[str]:
    """Names of the placeholders; a translation may say another format of the same figure."""
    if "%(" in text:
        return set(re.findall(r"%\((\w+)\)", text))
    return {name for _, name, _, _ in Formatter().parse(text) if name}


@pytest.mark.whole
def test_the_catalogue_is_what_the_code_says() -> None:
    content, missing = texts().renewed("ko", texts().texts())
    assert po_file("ko").read_text(encoding="utf-8") == content, "run scripts/texts"
    errors = texts().of_errors()
    assert [text for text in missing if text not in errors] == []
    assert len(missing) <= ERRORS_WITHOUT, "translate these: scripts/texts lists them"


def test_no_translation_is_unsure() -> None:
    assert [one.id for one in _catalogue() if one.id and one.fuzzy] == []


def test_every_translation_has_the_figures_of_its_sentence() -> None:
    wrong = []
    for one in entries().values():
        forms = one.id if isinstance(one.id, tuple) else (one.id,)
        said = korean(one)
        needed, allowed = figures(forms[0]) - {"n"}, set().union(*map(figures, forms))
        if said and not needed <= figures(said) <= allowed | {"n"}:
            wrong.append((forms[0], said))
    assert wrong == []


def test_no_translation_leaves_the_particle_to_the_reader() -> None:
    assert [
        said
        for one in entries().values()
        if re.search(r"[은는이가을를과와]\([은는이가을를과와]\)", said := korean(one))
    ] == []


def test_no_english_but_names_code_and_terms() -> None:
    """Words that are in the English as names, options, code or in capitals stay; others have to be terms."""
    wrong = {}
    for one in entries().values():
        shown = CODE.sub(" ", korean(one))
        words = {word.lower() for word in re.findall(r"[a-z]{2,}", shown)} - KNOWN - NAMES - IN_COMMANDS
        if words:
            wrong[korean(one)] = sorted(words)
    assert wrong == {}


SAYING = frozenset(
    {
        *(
            "RefusedCommand",
            "CommandRefusal",
            "FieldError",
            "YamlTextError",
            "CommandWarning",
            "ReplyTooLarge",
            "refuse",
        ),
        *(
            "progress",
            "LastingStep",
            "Step",
            "step",
            "last_step",
            "note",
            "note_here",
            "detail",
            "remark",
            "say",
            "error",
        ),
    }
)
"""What is called beside our errors with what a person is to read."""
INTERNAL = {
    "addons/fleet/engine_process.py": "an agent reads it, of a program of its own",
    "servers/mariadb/client.py": "the client library reads it",
    "addons/pages/access.py": "the names of headers",
}
"""Files whose literals no person reads, and who does."""


def test_what_a_person_is_told_is_a_sentence_of_the_catalogue() -> None:
    """No error, validator or line of progress has a literal in English: templates or `_(...)` name its figures."""
    language = texts().PACKAGE / "text" / "language.py"
    parsed = {**texts().trees(), language: ast.parse(language.read_text())}
    trees = {path.relative_to(texts().PACKAGE).as_posix(): tree for path, tree in parsed.items()}
    telling = SAYING | texts().errors()
    wrong = [
        f"{name}:{call.lineno}: {ast.unparse(argument)[:80]}"
        for name, tree in trees.items()
        if name not in INTERNAL
        for call in _telling(tree, telling)
        for argument in (*call.args, *(one.value for one in call.keywords if one.arg != "about"))
        if _is_sentence(argument) and not _is_template(argument, call)
    ]
    assert wrong == []


def _is_template(node: ast.AST, call: ast.Call) -> bool:
    """The template of an error, which `scripts/texts` collects."""
    named = isinstance(call.func, ast.Name) and call.func.id in texts().errors()
    return named and node is call.args[0] and isinstance(node, ast.Constant)


def _telling(tree: ast.Module, names: Set[str]) -> Iterator[ast.Call]:
    """Calls of these names, and ValueErrors of validators, whose text a user reads."""
    validating = {
        id(node)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef)
        and any("validator" in ast.unparse(decorator) for decorator in function.decorator_list)
        for node in ast.walk(function)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if name == "of" and isinstance(node.func, ast.Attribute):  # UserError.of
                name = getattr(node.func.value, "id", name)
            if name in names or (name == "ValueError" and id(node) in validating):
                yield node


def _is_sentence(node: ast.AST) -> bool:
    """A literal, or one of several, with two English words in a row."""
    if isinstance(node, ast.BinOp | ast.BoolOp | ast.IfExp):
        return any(map(_is_sentence, ast.iter_child_nodes(node)))
    if isinstance(node, ast.JoinedStr):
        text = "".join(str(one.value) if isinstance(one, ast.Constant) else "x" for one in node.values)
    else:
        text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
    return re.search(r"(?<![\w./:`'-])[A-Za-z][a-z]+,? [a-z]{2,}", text) is not None


@pytest.mark.parametrize("words", [["--lang", "ko", "--help"], ["redis", "--help", "--lang=ko"]])
def test_the_help_speaks_korean(words: list[str]) -> None:
    said = subprocess.run(
        [sys.executable, "-m", "loadstone", *words], capture_output=True, text=True, encoding="utf-8", check=True
    ).stdout
    assert said.startswith("사용법: loadstone")
    assert not re.search(r"[a-z]{3,} [a-z]{3,} [a-z]{3,} [a-z]{3,}", said.replace("loadstone redis", "")), "English"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("format: 1\nfactors: {a: {levels: [1, 2], titel: x}}", "factors.a.titel: 없는 키입니다. 혹시 'title'인가요?"),
        ("format: 1\nname: x", "question: 빠졌습니다"),
        ("format: 2", "format: '2'는 쓸 수 없는 값입니다. 쓸 수 있는 값: 1"),
        ("name: [x]", "name: 목록은 문자열이 아닙니다. 따옴표로 감싸세요"),
        ("a: 1\na: 2", "키가 두 번 나옵니다(처음은 1행)"),
    ],
)
def test_what_is_wrong_with_an_experiment_is_said_in_korean(text: str, expected: str) -> None:
    with pytest.raises(UserError) as raised, use_language("ko"):
        load_experiment(text)
    with use_language("ko"):
        assert expected in in_language(raised.value)
    assert not re.search("[가-힣]", str(raised.value)), "what is recorded is English"


def test_the_facts_of_a_machine_are_said_in_korean() -> None:
    fact = Fact("CPU steal", said("{percent:.2f} % since the start", percent=9.5), "warn", said("not installed"))
    assert fact.lines == ["warn  CPU steal                9.50 % since the start", f"{'':<30} not installed"]
    with use_language("ko"):
        assert fact.lines == ["주의  외부 CPU 점유(steal)     부팅 이후 9.50 %", f"{'':<30} 설치되지 않음"]
        assert english_in("\n".join(fact.lines), frozenset()) == []


TYPED = frozenset({"metric", "value", "factor", "level", "model", "mean", "peak", "errors", "saturation"})
"""What is typed as it stands: words of the grammar of `--fail-if`, and metrics in it."""


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["http", "-H", "bad", "http://127.0.0.1:9"], "-H bad: 'NAME: VALUE'로 쓰세요."),
        (["http", "-c", "x", "http://127.0.0.1:9"], "-c x: 연결 수가 아닙니다."),
        (["http", "--connections", "x", "http://127.0.0.1:9"], "--connections x: 연결 수가 아닙니다."),
        (["http", "http://127.0.0.1:9", "--fail-if", "p99 ? 5"], "--fail-if 'p99 ? 5': 목표가 아닙니다."),
        (["http", "http://127.0.0.1:9", "--fail-if", "p99 > 5"], "--fail-if 'p99 > 5': 값에 단위가 없습니다."),
        (["report", "a", "b"], "필요 없는 인자가 있습니다(b)."),
    ],
)
def test_an_error_names_what_was_typed_and_is_korean(words: list[str], told: str) -> None:
    done = called("--lang", "ko", *words)
    assert done.returncode == 2
    assert done.stderr.startswith(f"loadstone: {told}")
    assert english_in(done.stderr, TYPED | {"loadstone"}) == []
