"""What Redis, and what speaks its protocol, declares of itself."""

from loadstone.language import said
from loadstone.software.software import Software

COUNTING = ("DBSIZE", "EXISTS", "GET", "HLEN", "LLEN", "SCARD", "STRLEN", "XLEN", "ZCARD")
"""Commands that may count what is stored: they read, and answer one number."""

QUICK = frozenset(
    {
        *("APPEND", "DECR", "DECRBY", "EXISTS", "EXPIRE", "GET", "GETDEL", "GETEX", "GETRANGE", "GETSET", "HEXISTS"),
        *("HGET", "HINCRBY", "HMGET", "HSET", "INCR", "INCRBY", "JSON.GET", "JSON.NUMINCRBY", "JSON.SET", "LINDEX"),
        *("LPOP", "LPUSH", "PFADD", "PING", "RPOP", "RPUSH", "SADD", "SET", "SETEX", "SETNX", "SETRANGE", "SISMEMBER"),
        *("SPOP", "SREM", "STRLEN", "TTL", "ZADD", "ZINCRBY", "ZPOPMIN", "ZSCORE"),
    }
)
REDIS = Software(
    name="redis",
    title="Redis",
    kinds=("embedded", "process", "cluster", "url", "replicated", "valkey"),
    url_kind="url",
    schemes=("redis", "rediss", "unix", "valkey", "valkeys", "redis+sentinel", "rediss+sentinel"),
    url_form="redis://HOST:PORT",
    rows="commands",
    counts_by=COUNTING,
    how_to_count=said("begin it with one of: {known}", known=", ".join(COUNTING)),
    protocols=("resp2", "resp3"),
    of_redis=True,
    has_counters=True,
    in_container=True,
    starts_at_once=("embedded", "valkey", "process"),
    in_memory=True,
    writes_by=("appendonly", "save"),
    quick=QUICK,
)
