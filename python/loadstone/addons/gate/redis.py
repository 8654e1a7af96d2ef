"""Two Redis versions or configurations of a gate: what `--base redis=7.0` or `--head appendfsync=always` means."""

from dataclasses import replace

from loadstone.addons.gate.experiment import gate_fields, gate_question
from loadstone.addons.gate.options import GateOptions
from loadstone.addons.gate.spec import BASE, HEAD
from loadstone.cli.ad_hoc_experiment import AdHocLoad, Target
from loadstone.cli.named_servers import server_of
from loadstone.cli.operations import YamlMapping
from loadstone.cli.redis_experiment import RedisRequest, redis_ad_hoc
from loadstone.safety.errors import UserError
from loadstone.safety.secrets.references import learn_options

REDIS_STARTS_DIFFER = 0.02
"""Share by which starts of a Redis are taken to differ, one standard deviation, as in `bench/judge/start_level.py`."""


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
