"""Two Redis versions or configurations of a gate: what `--base redis=7.0` or `--head appendfsync=always` means."""

import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace

from loadstone.addons.gate.experiment import gate_fields, gate_question
from loadstone.addons.gate.options import GateOptions
from loadstone.addons.gate.spec import BASE, HEAD
from loadstone.cli.ad_hoc_experiment import AdHocLoad, Target
from loadstone.cli.operations import YamlMapping
from loadstone.cli.redis_experiment import RedisRequest, redis_ad_hoc
from loadstone.cli.targets import address, redis_server
from loadstone.machine.installed_programs import output_of
from loadstone.safety.errors import UserError
from loadstone.safety.secrets.references import learn_options
from loadstone.servers import registry

BROUGHT: Mapping[str, registry.BroughtKind] = {"redis": "embedded", "valkey": "valkey"}
"""What loadstone brings, by the word for it -> the kind of server."""
REDIS_STARTS_DIFFER = 0.02
"""Share by which starts of a Redis are taken to differ, one standard deviation, as in `bench/judge/start_level.py`."""
SERVER_WORD = re.compile(r"(redis|valkey)([=,:].*)?")
SETTINGS = re.compile(r"[a-z][a-z0-9-]*=[^\s,{}]+(,[a-z][a-z0-9-]*=[^\s,{}]+)*")
"""No command is one word with a `=`: what stands before a command in its environment is followed by it."""
URL = re.compile(r"(rediss?|valkeys?|unix)(\+sentinel)?://")
_VERSION = re.compile(r"\bv=(\d+(?:\.\d+)*)")


@dataclass(frozen=True)
class GateServer:
    """One side of the gate."""

    name: str
    settings: YamlMapping


def is_redis(text: str) -> bool:
    """Whether a version is one of a Redis."""
    return any(form.fullmatch(text) for form in (SERVER_WORD, SETTINGS)) or URL.match(text) is not None


def server_of(text: str, option: str) -> GateServer:
    """`redis`, `redis=8.2`, `valkey`, `redis:7.2` (an image), `./redis-server`, a URL; behind commas settings.

    Raises UserError.
    """
    if URL.match(text):
        return GateServer(address(text), redis_server(text, option=option))
    first, *rest = [part.strip() for part in text.split(",")]
    word, equals, version = first.partition("=")
    if equals and word not in BROUGHT:
        first, rest, word, version = "redis", [first, *rest], "redis", ""
    settings = dict(_setting(part, option) for part in rest)
    common: YamlMapping = {"settings": settings} if settings else {}
    return GateServer(text, {**_kind(first, word, version, option), **common})


def _kind(first: str, word: str, version: str, option: str) -> YamlMapping:
    if (brought := BROUGHT.get(word)) is not None:
        return _of_version(word, brought, version) if version else {"kind": brought}
    if ":" in first and "//" not in first and "/" not in first.partition(":")[0]:
        return {"kind": "container", "image": first}
    if shutil.which(first) is None:
        raise UserError(
            "{option} {first}: no Redis; write redis, redis=7.0, valkey, an image (redis:7.2), the path of a "
            "program, a URL, or settings as appendfsync=always",
            option=option,
            first=first,
        )
    return {"kind": "process", "binary": first}


def _of_version(word: str, kind: registry.BroughtKind, version: str) -> YamlMapping:
    """The one that loadstone brings, an installed one, or else an image."""
    brought, installed = registry.brought_program(kind), shutil.which(f"{word}-server")
    if brought is not None and _is(str(brought), version):
        return {"kind": kind}
    if installed is not None and _is(installed, version):
        return {"kind": "process", "binary": installed}
    image = "redis" if word == "redis" else "valkey/valkey"
    return {"kind": "container", "image": f"{image}:{version}"}


def _is(program: str, version: str) -> bool:
    """Whether a program says that it is of this version, `8.2` of 8.2.3, too."""
    found = _VERSION.search(output_of(program, "--version") or "")
    return found is not None and f"{found[1]}.".startswith(f"{version}.")


def _setting(text: str, option: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UserError(
            "{option}: '{text}' is no setting; write NAME=VALUE, as appendfsync=always", option=option, text=text
        )
    return name, value


def base_and_head(base: str | None, head: str | None) -> tuple[str, str]:
    """The two versions. Raises UserError where these are not two."""
    if base is None or head is None:
        raise UserError("--base, --head: which two? Write for example --base redis=7.0 --head redis=8.2")
    learn_options((base, head))
    if base == head:
        raise UserError("--base, --head: both are '{same}'; name two versions", same=base)
    return base, head


def one_kind_of_request(asked: RedisRequest) -> AdHocLoad:
    """What `loadstone redis` makes of the same options, which must be one row. Raises UserError."""
    common = redis_ad_hoc(replace(asked, load=replace(asked.load, slice=None)))
    if len(common.rows) > 1:
        rows = ", ".join(row.name for row in common.rows)
        raise UserError(
            "-t {rows}: a gate compares one kind of request; write one, or a mix by --ratio 1:10", rows=rows
        )
    return common


def redis_gate(base: str, head: str, asked: RedisRequest, gate: GateOptions) -> AdHocLoad:
    """Two servers under the same commands. Raises UserError that names the option."""
    sides = (server_of(base, "--base"), server_of(head, "--head"))
    common = one_kind_of_request(asked)
    modules = list(common.rows[0].modules)
    needs: YamlMapping = {"modules": modules} if modules else {}
    running = any(side.settings["kind"] == "url" for side in sides)
    return replace(
        common,
        command="gate",
        load=asked.load,
        question=gate_question(sides[0].name, sides[1].name, common.rows[0].name),
        targets=tuple(
            Target(part, part, {**side.settings, **needs}) for part, side in zip((BASE, HEAD), sides, strict=True)
        ),
        twin=gate.twin,
        compared_by=gate_fields(
            sides[0].name, sides[1].name, gate, restarts=not running, starts_differ=REDIS_STARTS_DIFFER
        ),
    )
