"""`--summary`: a gate as Markdown, for a pull request: the verdict, one table, one picture as text.

Names of branches and commands come from strangers. They stand in code spans, in which nothing is a link, a mention or
HTML; sentences that may quote a server's reply are escaped.
"""

import re

from loadstone.addons.gate.ci.formats import drawing, mark_of
from loadstone.addons.gate.result import GateResult
from loadstone.addons.gate.section import gate_section
from loadstone.addons.gate.texts import percent
from loadstone.report import figure_format as fmt
from loadstone.report.markdown_report import markdown_blocks
from loadstone.text.language import _, plural

_NAME_MAX, _SENTENCE_MAX = 120, 600
_MARKUP = re.compile(r"([\\`*_{}\[\]()<>#+!|~$])")
_LINKED = re.compile(r"([@#:./])(?=\w|/)")
"""Behind these GitHub and GitLab see a mention, an issue, or an address: a space of no width stands between."""
_NO_WIDTH = "\u200b"


def summary(result: GateResult) -> str:
    """The whole text, which ends with a line break."""
    lines = [
        f"### {mark_of(result)} {sentence(fmt.sentence(result.message))}",
        "",
        _("{head} against {base}, measured in turns on one machine", head=code(result.head), base=code(result.base)),
        "",
        *map(_unlinked, markdown_blocks(gate_section(result).blocks[:1])),
    ]
    if picture := drawing(result.figures):
        title = _("slower (right) or faster (left), the tolerances between ┊")
        lines += ["", "```", *picture, "", title, "```"]
    if result.advice is not None:
        lines += ["", sentence(fmt.sentence(result.advice))]
    lines += ["", f"<sub>{_footing(result)}</sub>"]
    return "\n".join(lines) + "\n"


def _level_text(result: GateResult) -> str:
    level = f"{100 * result.level:.3g} %"
    if not result.starts_differ:
        return _("red by chance in {level} of gates at most", level=level)
    return _(
        "red by chance in {level} of gates at most, if starts of one version differ by {differ} % or less",
        level=level,
        differ=percent(result.starts_differ),
    )


def _footing(result: GateResult) -> str:
    machine = ", ".join(filter(None, (result.machine.get("cpu_model"), _cpus(result))))
    return "; ".join(
        filter(
            None,
            (
                _level_text(result),
                _("tolerance {tolerance} %", tolerance=percent(result.tolerance)),
                fmt.seconds(result.elapsed_s),
                sentence(machine),
                _("run {name}", name=code(result.run)),
            ),
        )
    )


def _cpus(result: GateResult) -> str:
    count = result.machine.get("cpu_count", "")
    return plural(int(count), "{n} CPU", "{n} CPUs") if count.isdecimal() else ""


def code(name: str) -> str:
    """A name of someone else's as a code span: nothing in it has a meaning."""
    text = fmt.plain(name)
    text = text if len(text) <= _NAME_MAX else f"{text[: _NAME_MAX - 1]}…"
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", text)), default=0))
    room = " " if text[:1] == "`" or text[-1:] == "`" else ""
    return f"{fence}{room}{text or ' '}{room}{fence}"


def sentence(text: str) -> str:
    """A sentence in which nothing is markup, a mention or a link."""
    text = fmt.plain(text)
    text = text if len(text) <= _SENTENCE_MAX else f"{text[: _SENTENCE_MAX - 1]}…"
    return _MARKUP.sub(r"\\\1", _unlinked(text).replace("&", "&amp;"))


def _unlinked(text: str) -> str:
    return _LINKED.sub(lambda found: f"{found[1]}{_NO_WIDTH}" if _links(found, text) else found[1], text)


def _links(found: "re.Match[str]", text: str) -> bool:
    """Not the point and colon of a number: `0.8`, `1:2`."""
    before, after = text[max(0, found.start() - 1) : found.start()], text[found.end() : found.end() + 1]
    return not (found[1] in ".:/" and (before.isdigit() or not before) and after.isdigit())
