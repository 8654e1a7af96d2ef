"""Korean is complete: each sentence that a person reads, with the same figures, in words that are Korean."""

import importlib.util
import io
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from string import Formatter
from types import ModuleType
from typing import Any

import pytest
from babel.messages.pofile import read_po

from loadstone.language import po_file

ROOT = Path(__file__).parents[1]
ERRORS_WITHOUT = 0
"""So many messages of errors have no Korean yet, and are said in English; may only fall."""
KNOWN = frozenset(
    word
    for line in (
        "alias auto chmod clean count embedded exponential fix folder head host ip link lowercase manifest mapping",
        "messages number output post prefix ramp random replicas root scheme setpriv sslmode stats uniform unique",
        "unshare verify true false rounds meta mg me ma cpus never mn monotonic environment port loopback",
        "check control cryptography driver end export fleet group init",
        "install min null pip saturate sweeps up where everysec",
        "ab accept acl al aof append as at avg b backlog bi bit block bo boot buff byte cache cgroup ci cpu cs csv",
        "ctrl dask debug docker drop epoll et eviction failover fifo file fork free fsync gc get goodput half hash",
        "heap hikari hit hits html http https huge hz id in io jit json jvm kernel key keys kill kneedle lag latency",
        "list log loglevel loop lua maven maxmemory md memory miss mix ms mtt nfs node none notice ns offset ok on",
        "oom open os overcommit p page pages pem per ping png pool ps queue r ram rate rb read redo replica resp",
        "retry rps run seccomp seed sentinel set sets si sigterm sla slow so sock sql ssl st stderr stdin stdout",
        "steal stream svg swpd sy system tcp tls tomcat tps trace",
        "ttl tty udp uri url us user utf val vmstat vu vuser",
        "vusers wa wait wal worker workers write wrk yaml zipf",
    )
    for word in line.split()
)
"""Terms of the field that are written so in Korean."""


_CODE = re.compile(
    r"`[^`]*`|'[^']*'|\$?\{[^{}]*\}|\{\{|\}\}|--?[\w-]+|[\w./*-]*[./_:=@<>\\-][\w./*:=-]*|\b[\w-]*[A-Z0-9][\w-]*\b"
)
"""What is code: in quotes, an option, a path, a name with a capital or a digit."""


@cache
def texts() -> ModuleType:
    spec = importlib.util.spec_from_file_location("texts", ROOT / "scripts" / "texts.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def entries() -> dict[str, Any]:
    return {one.id if isinstance(one.id, str) else one.id[0]: one for one in _catalogue() if one.id}


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
        said = _CODE.sub(" ", korean(one))
        words = {word.lower() for word in re.findall(r"[a-z]{2,}", said)} - KNOWN - NAMES
        if words:
            wrong[korean(one)] = sorted(words)
    assert wrong == {}


NAMES = frozenset(
    word
    for line in (
        "agent always any baseline capacity closed compare default disable doctor fsyncs hget history hits hset httpd",
        "fetch git incr ioredis",
        "java jedis kubernetes lettuce limit linux list loadstone local lpush lrange madvise mariadb max memcached",
        "monitor mset native nest never no objective ping prometheus python redis remote report rewrite rpush sadd",
        "scheduler serve show shuf spring table sh thp transparent valkey yes zadd",
    )
    for word in line.split()
)


@pytest.mark.parametrize("words", [["--lang", "ko", "--help"], ["redis", "--help", "--lang=ko"]])
def test_the_help_speaks_korean(words: list[str]) -> None:
    said = subprocess.run(
        [sys.executable, "-m", "loadstone", *words], capture_output=True, text=True, encoding="utf-8", check=True
    ).stdout
    assert said.startswith("사용법: loadstone")
    assert not re.search(r"[a-z]{3,} [a-z]{3,} [a-z]{3,} [a-z]{3,}", said.replace("loadstone redis", "")), "English"
