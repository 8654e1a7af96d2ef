"""The analysis as it is, for programs; beside each message and each verdict its sentence, as `render_message`."""

import json
from math import isfinite
from typing import Any

from pydantic import BaseModel

from loadstone.judge.analysis.analysis import Analysis
from loadstone.judge.verdict import Verdict
from loadstone.text.language import use_language
from loadstone.text.message import read_message
from loadstone.text.sentences import render_message

TEXT = "text"


def render(analysis: Analysis) -> dict[str, bytes]:
    """`analysis.json`."""
    return {"analysis.json": json_text(analysis).encode()}


def json_text(model: BaseModel) -> str:
    """A model as JSON, with the sentences that its data stand for."""
    return json.dumps(with_texts(model), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


@use_language("en")
def with_texts(model: BaseModel) -> Any:
    """Return a model as data, with its texts in English: programs read them."""
    return _with_texts(model.model_dump(mode="json"))


def _with_texts(value: Any) -> Any:
    if isinstance(value, list):
        return [_with_texts(one) for one in value]
    if isinstance(value, float) and not isfinite(value):
        return None
    if not isinstance(value, dict):
        return value
    if value.keys() == {"kind", "figures"}:
        return {**value, TEXT: render_message(read_message(value))}
    inner = {name: _with_texts(one) for name, one in value.items()}
    return {**inner, TEXT: render_message(Verdict.model_validate(value).message)} if _is_verdict(value) else inner


def _is_verdict(value: dict[str, Any]) -> bool:
    return value.keys() == Verdict.model_fields.keys()
