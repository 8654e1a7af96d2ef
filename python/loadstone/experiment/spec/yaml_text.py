"""YAML text read into plain data, and the line of every key and item.

Only what an experiment needs is read: mappings, lists, texts, numbers, true and false. Anchors,
tags, dates and several documents are errors, each with its line.
"""

import io
import math
from collections.abc import Mapping
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.composer import MaxDepthExceededError
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from loadstone.safety.bounds.bounded_yaml import DEPTH_MAX, shallow_yaml
from loadstone.safety.bounds.replies import shortened
from loadstone.text.message import AnyText, said

Path = tuple[str | int, ...]

NUMBER_MAX = 2**63 - 1
"""A whole number beyond it fits neither the driver nor the record."""
_ENDLESS = 1_000_000
"""Columns of a line that is not broken."""
_TOO_DEEP = said("is nested too deeply; an experiment needs about six levels")
_OF_SIGNS = {
    r"character '\t'": said("it is a tab; write spaces in its place"),
    **{f"character '{sign}'": said("put the text in quotes") for sign in "@`%"},
    "another document": said("write one experiment a file, without `---`"),
    "expected <block end>": said("write each key on a line of its own, as far in as those beside it"),
}
"""What helps where the parser complains of a sign."""
_PLAIN_TAGS = {f"tag:yaml.org,2002:{tag}" for tag in ("str", "int", "float", "bool", "null", "map", "seq")}


class YamlTextError(Exception):
    """What is wrong with the text. `line` counts from 1; `path` says in which key, as far as known."""

    def __init__(self, line: int, path: Path, problem: AnyText) -> None:
        super().__init__(problem)
        self.line = line
        self.path = path
        self.problem = problem


def read_yaml(text: str) -> tuple[Any, Mapping[Path, int]]:
    """The data of `text`, and the line (from 1) of each key and item by its path.

    Raises YamlTextError.
    """
    parser = shallow_yaml()
    try:
        node = parser.compose(text)
    except MaxDepthExceededError as error:
        raise YamlTextError(error.problem_mark.line + 1, (), _TOO_DEEP) from None
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        words = " ".join(str(part) for part in (error.context, error.problem) if part)
        remedy = next((remedy for sign, remedy in _OF_SIGNS.items() if sign in words), "")
        line = mark.line + 1 if mark else 1
        if remedy:
            raise YamlTextError(
                line, (), said("is not valid YAML: {words}; {remedy}", words=words, remedy=remedy)
            ) from error
        raise YamlTextError(line, (), said("is not valid YAML: {words}", words=words)) from error
    except YAMLError as error:
        line = text.count("\n", 0, getattr(error, "position", 0) or 0) + 1
        raise YamlTextError(
            line, (), said("is not valid YAML: it holds a control character; write plain text")
        ) from error
    except (ValueError, OverflowError) as error:  # of an escape in a text, such as "\\UFFFFFFFF"
        raise YamlTextError(1, (), said("is not valid YAML: {error}", error=error)) from error
    except RecursionError:
        raise YamlTextError(1, (), _TOO_DEEP) from None
    if node is None:
        return None, {}
    lines: dict[Path, int] = {}
    return _data(node, (), lines, parser), lines


def in_one_line(data: Any) -> str:
    """Plain data as YAML in one line, with quotes where `read_yaml` needs them: `{store: ['1', redis]}`."""
    writer, text = YAML(typ="safe", pure=True), io.StringIO()
    writer.default_flow_style, writer.width = True, _ENDLESS
    writer.dump(data, text)
    return text.getvalue().strip()


def _data(node: Node, path: Path, lines: dict[Path, int], parser: YAML) -> Any:
    """The plain data of a node; the lines of what it holds are put into `lines`."""
    line = node.start_mark.line + 1
    if len(path) > DEPTH_MAX:
        raise YamlTextError(line, path[:3], _TOO_DEEP)
    if node.anchor is not None:
        raise YamlTextError(
            line, path, said("the anchor `&{anchor}` is not supported; write the value out", anchor=node.anchor)
        )
    if isinstance(node, MappingNode):
        return _mapping(node, path, lines, parser)
    if isinstance(node, SequenceNode):
        _only_plain(node, path)
        for index, item in enumerate(node.value):
            lines[*path, index] = item.start_mark.line + 1
        return [_data(item, (*path, index), lines, parser) for index, item in enumerate(node.value)]
    return _scalar(node, path, parser)


def _mapping(node: MappingNode, path: Path, lines: dict[Path, int], parser: YAML) -> dict[str, Any]:
    _only_plain(node, path)
    mapping: dict[str, Any] = {}
    for key_node, value_node in node.value:
        line = key_node.start_mark.line + 1
        if key_node.tag == "tag:yaml.org,2002:merge":
            raise YamlTextError(line, path, said("the merge key `<<` is not supported; write the keys out"))
        if not isinstance(key_node, ScalarNode) or key_node.tag == "tag:yaml.org,2002:null":
            raise YamlTextError(line, path, said("a key must be text; put it in quotes"))
        key = str(key_node.value)
        if key in mapping:
            first = lines[*path, key]
            raise YamlTextError(
                line, (*path, key), said("the key is given twice, first in line {first}; remove one", first=first)
            )
        lines[*path, key] = line
        mapping[key] = _data(value_node, (*path, key), lines, parser)
    return mapping


def _scalar(node: Node, path: Path, parser: YAML) -> Any:
    line = node.start_mark.line + 1
    if node.tag == "tag:yaml.org,2002:timestamp":
        raise YamlTextError(
            line,
            path,
            said("'{text}' would be read as a date; put it in quotes", text=shortened(node.value)),
        )
    _only_plain(node, path)
    try:
        value = parser.constructor.construct_object(node)
    except (YAMLError, ValueError, OverflowError) as error:
        raise YamlTextError(
            line,
            path,
            said("'{text}' cannot be read; put it in quotes if it is text", text=shortened(node.value)),
        ) from error
    if isinstance(value, float) and not math.isfinite(value):
        raise YamlTextError(line, path, said("'{text}' is not a finite number", text=shortened(node.value)))
    if isinstance(value, str) and any("\ud800" <= c <= "\udfff" for c in value):
        raise YamlTextError(line, path, said("holds half a character (\\uD800 to \\uDFFF); write the whole one"))
    if isinstance(value, int) and abs(value) > NUMBER_MAX:
        raise YamlTextError(
            line,
            path,
            said("'{text}' is too large a number; write a smaller one", text=shortened(node.value)),
        )
    return value


def _only_plain(node: Node, path: Path) -> None:
    if str(node.tag) not in _PLAIN_TAGS:
        raise YamlTextError(
            node.start_mark.line + 1, path, said("the tag `{tag}` is not supported; leave it out", tag=node.tag)
        )
