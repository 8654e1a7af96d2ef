"""Options of other load tools that mean something else here, or nothing: each is refused with what to write."""

from collections.abc import Mapping, Sequence
from typing import Any

from typer.exceptions import TyperException

from loadstone.cli_help import GroupedCommand
from loadstone.errors import UserError

_ALWAYS = "is always done; leave it out"
_URL = "write it into the URL: redis://HOST:PORT/DATABASE"
_KEYS = "keys have names of loadstone's own, so that yours are not touched; leave it out"
_NOT_THERE = "is not there yet; leave it out"
REDIS: Mapping[str, str] = {
    **dict.fromkeys(("-p", "--port", "-s", "--server", "--host", "--dbnum", "--select-db"), _URL),
    **dict.fromkeys(("-S", "--unix-socket"), "write unix:///path/to/redis.sock in the place of the URL"),
    **dict.fromkeys(("--authenticate", "--pass"), "write redis://USER:PASSWORD@HOST, the password as ${env:NAME}"),
    **dict.fromkeys(("-k", "-I", "--reconnect-interval"), "connections stay open; leave it out"),
    **dict.fromkeys(("-l", "--show-config", "--client-stats"), "is not there: --verbose prints more, --out keeps all"),
    **dict.fromkeys(("-x", "--run-count"), "write --repeat NUMBER; a value: --command 'SET {key} TEXT'"),
    **dict.fromkeys(("-R", "--random-data"), "{value} is text of its own for each operation; leave it out"),
    **dict.fromkeys(("--key-prefix", "--key-minimum", "--key-median", "--generate-keys"), _KEYS),
    **dict.fromkeys(("--expiry-range", "--no-expiry"), "write --command 'SET {key} {value} EX {uniform 10..100}'"),
    **dict.fromkeys(("--multi-key-get",), "write --command 'MGET {keys:10}'"),
    **dict.fromkeys(("--data-verify", "--verify-only"), "write --verify"),
    **dict.fromkeys(("--data-import", "--data-offset", "--data-size-pattern"), _NOT_THERE),
    **dict.fromkeys(("--enable-tracking", "--tls-ciphers", "--cacertdir", "--sentinel"), _NOT_THERE),
    **dict.fromkeys(("--wait-ratio", "--num-slaves", "--wait-timeout"), "write --command 'WAIT 1 100' in a mix"),
    **dict.fromkeys(("--print-percentiles", "--hide-histogram"), "write --hdr-file-prefix PREFIX for all"),
    **dict.fromkeys(("--distinct-client-seed", "--randomize"), "write --seed NUMBER, or nothing for a fresh one"),
    **dict.fromkeys(("--command-key-pattern",), "write --key-pattern, which is that of all commands"),
    **dict.fromkeys(("--precision",), "leave it out"),
    **dict.fromkeys(("-o", "--out-file"), "write --out DIR for reports, --csv, --json or --json-out-file FILE"),
    **dict.fromkeys(("--cluster-mode",), "write --cluster"),
    **dict.fromkeys(("--protocol",), "write --resp3, or nothing for RESP2"),
    **dict.fromkeys(("--tls-skip-verify",), "write --insecure"),
    **dict.fromkeys(("-D", "--debug"), "write --verbose"),
    **dict.fromkeys(("--clients",), "write -c, the connections of all threads together"),
}
HTTP: Mapping[str, str] = {
    **dict.fromkeys(("-s", "--script"), "a script of wrk or k6 is not read; requests are options here: --path, --body"),
    **dict.fromkeys(("-T",), "write --timeout TIME (wrk), or -H 'Content-Type: ...' (hey)"),
    **dict.fromkeys(("-A",), "write -H 'Accept: ...'"),
    **dict.fromkeys(("-a",), "write http://USER:PASSWORD@HOST, the password as ${env:NAME}"),
    **dict.fromkeys(("-o",), "write --csv or --json, and --out DIR for reports"),
    **dict.fromkeys(("-x", "-host", "-h2", "--http2"), _NOT_THERE),
    **dict.fromkeys(("-disable-keepalive", "--disable-keepalive"), "connections stay open; leave it out"),
    **dict.fromkeys(("-disable-compression", "-disable-redirects"), _ALWAYS),
    **dict.fromkeys(("-cpus",), "write -t THREADS"),
    **dict.fromkeys(("--stage", "--stages"), "write --rates, or `loadstone saturate http --ramp '1000 over 10 min'`"),
    **dict.fromkeys(("--summary-export",), "write --json-out-file FILE"),
    **dict.fromkeys(("--no-vu-connection-reuse",), "connections stay open; leave it out"),
    **dict.fromkeys(("-v", "--version"), "`loadstone --version` prints it"),
}


class _PeerCommand(GroupedCommand):
    """A command that knows the options of its peers."""

    refused: Mapping[str, str]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """See typer. Raises UserError for an option that a peer has and we have not, with what to write."""
        for word in _single_dashes(args, self.refused):
            raise UserError(f"{word}: {self.refused[word]}")
        try:
            return super().parse_args(ctx, args)
        except TyperException as error:
            name = getattr(error, "option_name", "")
            if name in self.refused:
                raise UserError(f"{name}: {self.refused[name]}") from None
            raise


def _single_dashes(args: Sequence[str], refused: Mapping[str, str]) -> list[str]:
    """hey's long options with one dash, which would be read as a short one and its value."""
    return [word for word in args if len(word) > 2 and word[0] == "-" != word[1] and word in refused]


class RedisCommand(_PeerCommand):
    """`loadstone redis`, for who knows redis-benchmark or memtier_benchmark."""

    refused = REDIS


class HttpCommand(_PeerCommand):
    """`loadstone http`, for who knows wrk, hey or k6."""

    refused = HTTP
