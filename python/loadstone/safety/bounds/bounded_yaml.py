"""YAML that others wrote, read into plain data of bounded size: aliases are counted before they are written out."""

from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.composer import MaxDepthExceededError
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import Node, ScalarNode

from loadstone.text.problem import Problem

VALUES_MAX = 200_000
DEPTH_MAX = 32


def load_yaml(text: str) -> Any:
    """The value of one YAML document.

    Raises:
        ValueError: it is no YAML, nests too deeply, or its aliases stand for too much; one line that says what.
    """
    parser = None
    try:
        constructor, parser = shallow_yaml().get_constructor_parser(text)
        node = constructor.composer.get_single_node()
        if node is None:
            return None
        _require_bounded(node)
        return constructor.construct_document(node)
    except MaxDepthExceededError:
        raise Problem("it is nested too deeply") from None
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f"line {mark.line + 1}: " if mark else ""
        raise Problem(
            "it is not YAML: {line}{split}", line=line, split=" ".join(str(error.problem or error).split())
        ) from None
    except YAMLError as error:
        raise Problem("it is not YAML: {split}", split=" ".join(str(error).split())) from None
    except RecursionError:
        raise Problem("it is nested too deeply") from None
    finally:
        if parser is not None:
            parser.dispose()


def shallow_yaml() -> YAML:
    """Return what reads YAML and raises `MaxDepthExceededError` at the first value that lies too deep: thousands of
    open brackets would take minutes."""
    yaml = YAML(typ="safe", pure=True)
    yaml.max_depth = DEPTH_MAX + 1  # it counts what a collection of the last level holds as one more
    return yaml


def _require_bounded(root: Node) -> None:
    """Count the values with every alias written out. Raises ValueError where there are too many, or they never end."""
    counts: dict[int, int] = {}
    above: set[int] = set()

    def count(node: Node) -> int:
        key = id(node)
        if key in above:
            raise Problem("an alias contains itself")
        if len(above) >= DEPTH_MAX:
            raise Problem("it is nested too deeply")
        if isinstance(node, ScalarNode):
            return 1
        if key not in counts:
            above.add(key)
            parts = [part for item in node.value for part in (item if isinstance(item, tuple) else (item,))]
            counts[key] = 1 + sum(map(count, parts))
            above.discard(key)
        return counts[key]

    values = count(root)
    if values > VALUES_MAX:
        raise Problem(
            "its aliases expand to {values:,} values; at most {values_max:,}: write them out",
            values=values,
            values_max=VALUES_MAX,
        )
