"""`--help` of commands with many options: a list for each group of them; and what a wrong command line is answered."""

import re
from typing import Any

from typer.core import TyperCommand
from typer.exceptions import TyperException

_TYPE = re.compile(r" <(?:str|path|int|float|list\[\w+\])>$")
"""What is put behind the name of an argument: it says nothing to who does not know Python."""
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
            line = (_TYPE.sub("", line[0]), line[1])
            if parameter.param_type_name == "argument":
                groups["Arguments"].append(line)
            elif (group := getattr(parameter, "rich_help_panel", None)) is not None:
                groups.setdefault(group, []).append(line)
            else:
                ungrouped.append(line)
        rest = "Help" if len(groups) > 1 else "Options"
        for title, lines in {**groups, rest: ungrouped}.items():
            if lines:
                with formatter.section(title):
                    formatter.write_dl(lines)


EXAMPLES = {"URL": "for example http://127.0.0.1:8080/", "RUN": "`latest` is the newest"}
"""Of arguments that a newcomer leaves out."""


def usage_error(error: TyperException) -> str:
    """What is wrong with a command line as one line, with what helps."""
    said = error.format_message().removesuffix(".").replace("Value error, ", "")
    context: Any = getattr(error, "ctx", None)
    command = getattr(context, "command_path", "loadstone COMMAND")
    if near := getattr(error, "possibilities", None):
        return f"{error.message}; did you mean {near[0]}? `{command} --help` lists the options"
    parameter: Any = getattr(error, "param", None)
    if said.startswith("Missing argument") and parameter is not None:
        form = parameter.metavar or parameter.name.upper()
        example = f", {EXAMPLES[form.split()[0]]}" if form.split()[0] in EXAMPLES else ""
        return f"{said}: write `{command} {form}`{example}"
    lists = "the commands" if "command" in said else "what it takes"
    return f"{said}{'' if said.endswith('?') else ';'} `{command} --help` lists {lists}"
