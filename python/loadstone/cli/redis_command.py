"""`loadstone redis [URL]`: load on a Redis without an experiment, by the options of redis-benchmark and memtier."""

from typing import Annotated

import typer

from loadstone.cli.command import OptionBinding, PeerOptions
from loadstone.cli.load import Load
from loadstone.cli.options import MEASURES, OutputOptions
from loadstone.cli.redis_options import AddressOptions, KeySpace, Login, ReceiverOptions, RedisWork, ReplayOptions
from loadstone.run.request import RunRequest
from loadstone.safety import terminal
from loadstone.text.message import said

_URL = said("write it into the URL: redis://HOST:PORT/DATABASE")
_KEYS = said("keys have names of loadstone's own, so that yours are not touched; leave it out")
_REPEAT = said("write {instead}", instead="--repeat NUMBER")
_REFUSED = {
    **dict.fromkeys(("-s", "--server", "--dbnum", "--select-db"), _URL),
    **dict.fromkeys(("-S", "--unix-socket"), said("write unix:///path/to/redis.sock in the place of the URL")),
    **dict.fromkeys(
        ("--authenticate", "--pass"), said("write redis://USER:PASSWORD@HOST, the password as ${{env:NAME}}")
    ),
    **dict.fromkeys(("-k", "-I", "--reconnect-interval"), said("connections stay open; leave it out")),
    **dict.fromkeys(
        ("-l", "--show-config", "--client-stats"), said("is not there: --verbose prints more, --out keeps all")
    ),
    "-x": said("no value is read from the standard input; write --command 'SET {{key}} TEXT'"),
    "--run-count": _REPEAT,
    **dict.fromkeys(("-R", "--random-data"), said("{{value}} is text of its own for each operation; leave it out")),
    **dict.fromkeys(("--key-prefix", "--key-minimum", "--key-median", "--generate-keys"), _KEYS),
    **dict.fromkeys(
        ("--expiry-range", "--no-expiry"),
        said("write {instead}", instead="--command 'SET {key} {value} EX {uniform 10..100}'"),
    ),
    **dict.fromkeys(("--multi-key-get",), said("write {instead}", instead="--command 'MGET {keys:10}'")),
    **dict.fromkeys(("--data-verify", "--verify-only"), said("write {instead}", instead="--verify")),
    **dict.fromkeys(("--tls-ciphers",), said("is not there yet; leave it out")),
    **dict.fromkeys(("--wait-ratio", "--num-slaves", "--wait-timeout"), said("write --command 'WAIT 1 100' in a mix")),
    "--print-percentiles": said("write --hdr-file-prefix PREFIX, whose files have them all"),
    "--hide-histogram": said("no histogram is printed; leave it out"),
    **dict.fromkeys(("--distinct-client-seed", "--randomize"), said("write --seed NUMBER, or nothing for a fresh one")),
    **dict.fromkeys(("--command-key-pattern",), said("write --key-pattern, which is that of all commands")),
    **dict.fromkeys(("-o", "--out-file"), said("write --out DIR for reports, --csv, --json or --json-out-file FILE")),
    **dict.fromkeys(("--cluster-mode",), said("write {instead}", instead="--cluster")),
    **dict.fromkeys(("--protocol",), said("write --resp3, or nothing for RESP2")),
    **dict.fromkeys(("--tls-skip-verify",), said("write {instead}", instead="--insecure")),
    **dict.fromkeys(("-D", "--debug"), said("write {instead}", instead="--verbose")),
    **dict.fromkeys(("--clients",), said("write -c, the connections of all threads together")),
}
REDIS_PEERS = PeerOptions(
    names={
        "measure_s": ("--test-time",),
        "count": ("--keyspace", "--key-maximum"),
        "zipf": ("--key-zipf-exp",),
        "quiet": ("-q",),
    },
    refused=_REFUSED,
    refused_numbers={"-x": _REPEAT},
)
_REMEDY = said(
    "-a: the password stands in the command line, where `ps` shows it to everyone on this machine; write "
    "redis://:${{env:NAME}}@HOST:PORT, in single quotes"
)
Url = Annotated[
    str | None,
    typer.Argument(metavar="[URL]", show_default=False, help="redis://HOST:PORT; without it one is started."),
]


def redis_command(
    *,
    url: Url = None,
    load: Load,
    work: RedisWork,
    keys: KeySpace,
    receivers: ReceiverOptions,
    recording: ReplayOptions,
    address: AddressOptions,
    login: Login,
    run: Annotated[RunRequest, OptionBinding(*MEASURES, "twin", "allow_any_command")],
    output: OutputOptions,
) -> None:
    """Load a Redis: yours, or one that is started.

    Without options GET and SET of 3 bytes, 50 connections, a few seconds. Only keys that begin with loadstone: are
    written, and they are removed. Sends full load; never use it on production.
    """
    from loadstone.cli.ad_hoc_run import run_ad_hoc
    from loadstone.cli.redis_experiment import RedisRequest, redis_ad_hoc

    asked = RedisRequest(address.url(url), load, work, keys, receivers, recording, login, address)
    ad_hoc = redis_ad_hoc(asked)
    if login.password is not None and "${" not in login.password:
        terminal.remark(_REMEDY)
    for line in ad_hoc.description.splitlines():  # what of a recording is sent again, and what is not
        terminal.remark(line)
    run_ad_hoc(ad_hoc, run, output)
