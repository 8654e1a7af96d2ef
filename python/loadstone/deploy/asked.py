"""Whether a server has a setting as it was asked for, however either of them writes it."""

import re
from collections.abc import Mapping

TRUE, FALSE = frozenset({"yes", "on", "true", "1"}), frozenset({"no", "off", "false", "0"})
SIZE = re.compile(r"(\d+)([kmgt])(b?)")
POWERS = {"k": 1, "m": 2, "g": 3, "t": 4}


def unlike(asked: Mapping[str, object], got: Mapping[str, str]) -> dict[str, str]:
    """Settings that the server tells otherwise than they were asked for: name -> what was asked.

    Those that it does not tell are left out.
    """
    found = {name: got.get(name, got.get(name.replace("-", "_"))) for name in asked}
    return {
        name: str(value)
        for name, value in asked.items()
        if (told := found[name]) is not None and not _meanings(value) & _meanings(told)
    }


def _meanings(value: object) -> set[str]:
    """What a value may mean: `1g` is 10^9 to Redis and 2^30 to MariaDB; `1gb` is 2^30 to both."""
    text = " ".join(str(value).split()).strip("\"'").lower()
    if text in TRUE:
        return {"true"}
    if text in FALSE:
        return {"false"}
    size = SIZE.fullmatch(text)
    if size is None:
        return {text}
    number, power = int(size[1]), POWERS[size[2]]
    return {str(number * 1024**power)} if size[3] else {str(number * 1024**power), str(number * 1000**power)}
