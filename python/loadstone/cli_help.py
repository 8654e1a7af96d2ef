"""`--help` of commands with many options: a list for each group of them."""

from typing import Any

from typer.core import TyperCommand

EXPERIMENT = "What is measured"
PARTS = "Servers and applications"
LOAD = "The load"
SEARCH = "The search"
LENGTH = "How long, and how often"
PLACE = "Where it runs, and where it is kept"
RESULTS = "What is printed, and the exit status"


class GroupedCommand(TyperCommand):
    """Prints its options in the groups that they name (`rich_help_panel`), in the order of their first ones."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """The arguments first, and what names no group last."""
        groups: dict[str, list[tuple[str, str]]] = {"Arguments": []}
        ungrouped: list[tuple[str, str]] = []
        for parameter in self.get_params(ctx):
            line = parameter.get_help_record(ctx)
            if line is None:
                continue
            if parameter.param_type_name == "argument":
                groups["Arguments"].append(line)
            elif (group := getattr(parameter, "rich_help_panel", None)) is not None:
                groups.setdefault(group, []).append(line)
            else:
                ungrouped.append(line)
        for title, lines in {**groups, "Help": ungrouped}.items():
            if lines:
                with formatter.section(title):
                    formatter.write_dl(lines)
