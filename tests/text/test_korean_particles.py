"""Korean particles after every unit, product and verdict that can be printed."""

import pytest

from loadstone.text.korean_particles import UNITS, particle, resolve_particles

READ = {
    "는": (
        "Redis redis MariaDB mariadb KeyDB Valkey Dragonfly Memcached Jedis jedis Lettuce lettuce ioredis redis-py "
        "go-redis Node NestJS nest Java Linux Docker Dask Prometheus Grafana io vUser vUsers TPS CPU GC P99 P99.9 P95 "
        "P999 MTT VU AOF RDB everysec always no redis-hash cache client cluster HTTP TLS 10,000/s 2 4 5 9 42 0.5 "
        "us µs ms ns s kB MB GB x 배 12% MB/s GHz bit RPS 부하 차이 쓰기 서버 1,000,000,000,000"
    ),
    "은": (
        "PostgreSQL postgresql MySQL SQL YAML HTML URL TTL Sentinel JSON redis-json Python Spring spring JVM RAM OOM "
        "Podman TypeORM io_uring GET SET HGET MGET DEL string pool pipeline P50 P90 0 1 3 6 7 8 10 100 1,000 10,000 "
        "0.10 18,400 min h 분 시간 값 처리량 지연시간 지점"
    ),
}


@pytest.mark.parametrize(("word", "form"), [(word, form) for form, words in READ.items() for word in words.split()])
def test_by_the_last_sound(word: str, form: str) -> None:
    assert resolve_particles(f"{word}[은/는]") == f"{word}{form}"


def test_by_rieul() -> None:
    """ㄹ takes 로, as a vowel does."""
    for word in ("1", "7", "8", "SQL", "PostgreSQL", "pool", "초당", "파일", "Redis", "ms"):
        assert particle(word, "으로/로") == ("으로" if word == "초당" else "로"), word
    for word in ("10", "3", "6", "JSON", "P50", "시간", "min", "GET"):
        assert particle(word, "으로/로") == "으로", word


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("Redis 8.2 (embedded)[을/를]", "Redis 8.2 (embedded)를"),
        ("+12 % [9, 15][으로/로]", "+12 % [9, 15]로"),
        ("'SET {key}'[은/는]", "'SET {key}'는"),
        ("<b>PostgreSQL</b>[이/가]", "<b>PostgreSQL</b>이"),
        ("&#39;JSON&#39;[과/와] 'x'", "&#39;JSON&#39;과 'x'"),
        ("a/b [c/d]", "a/b [c/d]"),
        ("[은/는]", "는"),
        ("(1)[은/는] 2[이/가]", "(1)은 2가"),
    ],
)
def test_what_is_not_read(given: str, said: str) -> None:
    assert resolve_particles(given) == said


def test_every_unit_is_read() -> None:
    assert all(particle(f"3 {unit}", "은/는") in ("은", "는") for unit in UNITS)
