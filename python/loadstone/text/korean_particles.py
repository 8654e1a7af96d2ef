"""Korean particles: which form stands after a figure or a name, by the last sound as it is read aloud.

A translation writes both forms in brackets, `{server}[은/는]`, and `resolve_particles` leaves the right one: `Redis는`,
`PostgreSQL은`, `3.1 ms는`, `10으로`. What stands in brackets before a particle is not read: `P99 (all)[은/는]` is
`P99 (all)는`, as after `P99`.
"""

import re

_FORMS = (
    "은/는",
    "이/가",
    "을/를",
    "과/와",
    "으로/로",
    "이라/라",
    "이란/란",
    "이나/나",
    "이고/고",
    "이며/며",
    "이면/면",
)
_MARK = re.compile(rf"\[({'|'.join(_FORMS)})\]")
_NONE, _RIEUL, _OTHER = 0, 8, 1
"""The last consonant of a syllable, as Unicode counts them: none, ㄹ, and (for us) any other."""
_NOT_READ = re.compile(r"(?:\s|<[^<>]*>|&(?:#3[49]|quot|gt);|[\"'`”’»」』*:;,.!?…])+$")
"""Spaces, tags, quotation marks, full stops."""
_IN_BRACKETS = re.compile(r"(?<=\S)\s*(?:\([^()]*\)|\[[^\[\]]*\])$")
_CLOSING = re.compile(r"[)\]}>]+$")
_NUMBER = re.compile(r"(?<![A-Za-z])\d[\d,]*(?:\.\d+)?$|\d+$")
_WORD = re.compile(r"[A-Za-zµ]+$")
_DIGITS = {"0": _OTHER, "1": _RIEUL, "3": _OTHER, "6": _OTHER, "7": _RIEUL, "8": _RIEUL}
"""영, 일, 삼, 육, 칠, 팔; 이, 사, 오 and 구 end with a vowel. 십, 백, 천, 만 and 억 end as 영 does."""
_LETTERS = {"l": _RIEUL, "m": _OTHER, "n": _OTHER, "r": _RIEUL}
"""엘, 엠, 엔, 알; all others end with a vowel."""


def _ending(last: int, *words: str) -> dict[str, int]:
    return {word: last for line in words for word in line.split()}


UNITS = {
    **_ending(_NONE, "ns us µs ms s B kB KB MB GB TB KiB MiB GiB TiB Hz kHz MHz GHz x TPS RPS IOPS"),
    **_ending(_NONE, "bit kbit Mbit Gbit bits"),
    **_ending(_OTHER, "min h ppm"),
}
"""밀리초, 바이트, 헤르츠, 배, 티피에스, 비트; 분, 시간, 피피엠."""
NAMES = {
    **_ending(_NONE, "redis jedis ioredis lettuce mariadb keydb valkey dragonfly memcached garnet py java docker"),
    **_ending(_NONE, "kubernetes dask linux nest nestjs prometheus grafana node vuser ngrinder nginx vegeta jmeter"),
    **_ending(_NONE, "memtier always everysec no yes false true cache write store update delete remote replica"),
    **_ending(_NONE, "cluster client default server worker workers user users stage phase one three four five nine"),
    **_ending(_NONE, "hikari hikaricp bytes keys bench"),
    **_ending(
        _RIEUL, "postgresql mysql sql yaml html url ttl acl ssl pool local all null level sentinel hyperfoil del"
    ),
    **_ending(_OTHER, "json redisjson python spring podman markdown typeorm gatling uring ram jvm"),
    **_ending(_OTHER, "get set hget hset mget mset hgetall string ten"),
}
"""Products and words as they are called in Korean: 레디스, 마리아디비, 포스트그레스큐엘, 제이슨, 겟."""


def resolve_particles(text: str) -> str:
    """`text` with the right form of each particle in it."""
    if "/" not in text:
        return text
    parts: list[str] = []
    end = 0
    for found in _MARK.finditer(text):
        parts.append(text[end : found.start()])
        parts.append(particle("".join(parts), found[1]))
        end = found.end()
    return "".join([*parts, text[end:]])


def particle(before: str, forms: str) -> str:
    """Which of two forms, `은/는`, stands after a text."""
    closed, _, open_ = forms.partition("/")
    last = last_consonant(before)
    if forms == "으로/로":
        return closed if last == _OTHER else open_
    return closed if last else open_


def last_consonant(text: str) -> int:
    """What the last syllable of a text ends with when it is read aloud: 0 a vowel, 8 ㄹ, 1 another consonant."""
    text = _read_part(text)
    if not text:
        return _NONE
    last = text[-1]
    if "가" <= last <= "힣":
        final = (ord(last) - ord("가")) % 28
        return final if final in (_NONE, _RIEUL) else _OTHER
    if number := _NUMBER.search(text):
        return _of_number(number[0])
    if word := _WORD.search(text):
        return _of_word(word[0])
    return _OTHER if last in "∞#" else _NONE


def _read_part(text: str) -> str:
    """`text` as far as it is read: without a remark in brackets at its end, quotation marks and tags."""
    text = text[-400:]
    while True:
        shorter = _NOT_READ.sub("", text)
        shorter = _IN_BRACKETS.sub("", shorter)
        if shorter == text:
            return _CLOSING.sub("", text)
        text = shorter


def _of_number(number: str) -> int:
    whole, _, fraction = number.replace(",", "").partition(".")
    zeros = len(whole) - len(whole.rstrip("0"))
    if not fraction and 12 <= zeros < 16 and len(whole) > zeros:
        return _NONE  # 조
    return _DIGITS.get((fraction or whole)[-1], _NONE)


def _of_word(word: str) -> int:
    """A unit, a name, letters one by one (`TPS`, `P`), or by the way that English words are written in Korean."""
    if word in UNITS:
        return UNITS[word]
    low = word.lower()
    if low in NAMES:
        return NAMES[low]
    if word.isupper() or len(word) == 1:
        return _LETTERS.get(low[-1], _NONE)
    if re.search(r"(?:ng|[mn]e?)$", low):
        return _OTHER  # 스트링, 타임, 파이프라인
    if re.search(r"(?:l|[^aeiou]le|[aeiou]le)$", low):
        return _RIEUL  # 풀, 테이블
    if re.search(r"[aeiou]ck$|(?:^|[^aeiou])[aeiou][pt]$|out$", low):
        return _OTHER  # 블록, 맵, 리셋, 타임아웃
    return _NONE
