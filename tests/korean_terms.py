"""Which words stay as they are in Korean: names, code, and terms that Korean engineers write in Latin letters."""

import re
from collections.abc import Iterator
from typing import Any

from loadstone.text.language import of_author, use_language

KNOWN = frozenset(
    word
    for line in (
        "alias auto chmod clean count embedded exponential fix folder head host ip link lowercase manifest mapping",
        "messages number output post prefix ramp random replicas root scheme setpriv sslmode stats uniform unique",
        "unshare verify true false rounds meta mg me ma cpus never mn monotonic environment port loopback",
        "check control cryptography driver end export fleet group init",
        "install min null pip saturate sweeps up where everysec",
        "goroutine nginx",
        "ab accept acl al aof append as at avg b backlog bi bit block bo boot buff byte cache cgroup ci cpu cs csv",
        "ctrl dask debug docker drop epoll et eviction failover fifo file fork free fsync gc get goodput half hash",
        "heap hikari hit hits html http https huge hz id in io jit json jvm kernel key keys kill kneedle lag latency",
        "list log loglevel loop lua maven maxmemory md memory miss mix ms mtt nfs node none notice ns offset ok on",
        "oom open os overcommit p page pages pem per ping png pool ps queue r ram rate rb read redo replica resp",
        "retry rps run seccomp seed sentinel set sets si sigterm sla slow so sock sql ssl st stderr stdin stdout",
        "steal stream svg swpd sy system systemd tcp tls tomcat tps trace",
        "ttl tty udp uri url us user utf val vmstat vu vuser",
        "vusers wa wait wal worker workers write wrk yaml zipf",
    )
    for word in line.split()
)
"""Terms of the field that are written so in Korean."""


CODE = re.compile(
    r"`[^`]*`|'[^']*'|\$?\{[^{}]*\}|\{\{|\}\}|--?[\w-]+|[\w./*-]*[./_:=@<>\\-][\w./*:=-]*|\b[\w-]*[A-Z0-9][\w-]*\b"
)
"""What is code: in quotes, an option, a path, a name with a capital or a digit."""

NAMES = frozenset(
    word
    for line in (
        "agent always any baseline capacity closed compare default disable doctor fetch fsyncs git hget history hits",
        "hey hset javac httpd incr ioredis sh",
        "java jedis kubernetes lettuce limit linux list loadstone local lpush lrange madvise mariadb max memcached",
        "monitor mset native nest never no objective ping prometheus python redis remote report rewrite rpush sadd",
        "scheduler serve show shuf spring table thp transparent valkey yes zadd",
    )
    for word in line.split()
)
"""Products, settings and commands that are named in sentences."""
IN_COMMANDS = frozenset(
    word
    for line in (
        "bin brew container cpupower echo governor nodejs npm performance postgresql process sysctl tsc ulimit wheel",
        "comparisons crash data effects factors kind lesson operation saturation values",
    )
    for word in line.split()
)
"""Words of commands to type and keys of an experiment, in messages about those."""
_SHOWN = re.compile(
    r"^ *(?:loadstone |\$ |`{3}).*$|\]\([^()]*\)|<[^<>]*>|[\w.-]+\s+\d+\.\d\d(?=[,)])|&\w+;", re.MULTILINE
)
"""Commands to type, the targets of links, tags; programs with the CPUs that they took."""


def english_in(text: str, names: frozenset[str]) -> list[str]:
    """Words of a Korean text that are English: neither code, nor a term, nor one of these names."""
    rest = CODE.sub(" ", _SHOWN.sub(" ", text))
    return sorted({word.lower() for word in re.findall(r"[A-Za-z]{3,}", rest)} - KNOWN - NAMES - names)


def names_in(experiment: Any) -> frozenset[str]:
    """What an experiment's author named: factors, levels, columns, servers; and sentences that are not our studies'."""
    with use_language("ko"):
        return frozenset(word.lower() for name in _named(experiment) for word in re.findall(r"[A-Za-z]{3,}", name))


def _named(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            if name in _NAMED and isinstance(inner, dict):
                yield from map(str, inner)
            yield from _named(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _named(inner)
    elif isinstance(value, str) and of_author(value) == value:
        yield value


_NAMED = ("factors", "values", "servers", "subjects", "data", "settings")
"""Under these the keys are names that the author chose."""
