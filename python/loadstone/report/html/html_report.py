"""One self-contained page: tables, pictures, checks and trials. It requests nothing from the network."""

import base64
import hashlib
from functools import cache
from importlib import resources

import jinja2

from loadstone.analyse.model import Analysis
from loadstone.report import format as fmt
from loadstone.report import summary
from loadstone.report.charts import theme
from loadstone.report.html.page import page


def render(analysis: Analysis) -> dict[str, bytes]:
    """`report.html`, whole in one file."""
    template = _templates().get_template("report.html.j2")
    style, script = _source("report.css") + _dark_pictures(), _source("report.js")
    text = template.render(**page(analysis), style=style, script=script, policy=_policy(script))
    return {"report.html": text.encode()}


@cache
def _templates() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("loadstone.report.html", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "plain": fmt.plain, "sentence": fmt.sentence, "unbroken": _unbroken,
        "count": fmt.count, "rate": fmt.rate, "duration": fmt.duration, "percent": fmt.percent,
        "seconds": fmt.seconds, "check_title": summary.check_title, "figure": summary.figure,
    }  # fmt: skip
    return environment


def _unbroken(text: str) -> str:
    """No line ends between a number and its per cent."""
    return text.replace(" %", "\u00a0%")


@cache
def _source(name: str) -> str:
    return (resources.files("loadstone.report.html") / "templates" / name).read_text(encoding="utf-8")


def _dark_pictures() -> str:
    """On a dark screen each colour of a picture is replaced by its lighter one."""
    rules = (
        f'.marks [{what}="{light}"]{{{what}:{dark}}}' for light, dark in theme.ON_DARK.items() for what in _PAINTED
    )
    return f"@media screen and (prefers-color-scheme: dark) {{ {''.join(rules)} }}\n"


_PAINTED = ("fill", "stroke")


def _policy(script: str) -> str:
    """The page's content security policy: only its own script runs, and nothing is fetched from anywhere."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
