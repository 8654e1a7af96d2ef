"""YAML that loadstone wrote itself, and that somebody may have changed since."""

from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.nodes import CollectionNode


def plain_yaml(text: str) -> Any:
    """The data of a YAML text without anchors: what is repeated by name can grow without end.

    Raises:
        ValueError, YAMLError: it is no such text.
    """
    parser = YAML(typ="safe", pure=True)
    try:
        node = parser.compose(text)
        _refuse_anchors(node)
        return parser.constructor.construct_document(node) if node is not None else None
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def _refuse_anchors(node: Any) -> None:
    nodes = [node]
    while nodes:
        found = nodes.pop()
        if getattr(found, "anchor", None) is not None:
            raise ValueError(f"the anchor &{found.anchor} is not known here")
        if isinstance(found, CollectionNode):
            nodes += [part for item in found.value for part in (item if isinstance(item, tuple) else (item,))]
