"""One self-contained page: tables, pictures, checks and trials. It requests nothing from the network."""

import base64
import hashlib
from functools import cache
from importlib import resources

import jinja2

from loadstone.analyse.model import Analysis
from loadstone.report import format as fmt
from loadstone.report import summary
from loadstone.report.html import vega
from loadstone.report.html.page import page


def render(analysis: Analysis) -> dict[str, bytes]:
    """`report.html`, whole in one file."""
    template = _templates().get_template("report.html.j2")
    scripts = [vega.script(), _source("report.js")]
    text = template.render(**page(analysis), style=_source("report.css"), scripts=scripts, policy=_policy(scripts))
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
        "plain": fmt.plain, "sentence": fmt.sentence,
        "count": fmt.count, "rate": fmt.rate, "duration": fmt.duration, "percent": fmt.percent,
        "seconds": fmt.seconds, "check_title": summary.check_title, "figure": summary.figure,
    }  # fmt: skip
    return environment


@cache
def _source(name: str) -> str:
    return (resources.files("loadstone.report.html") / "templates" / name).read_text(encoding="utf-8")


def _policy(scripts: list[str]) -> str:
    """The page's content security policy: only its own scripts run, and nothing is fetched from anywhere.

    Vega compiles its expressions with `Function`, hence 'unsafe-eval'.
    """
    hashes = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{digest}'" for digest in hashes)
    return f"default-src 'none'; img-src data: blob:; style-src 'unsafe-inline'; script-src 'unsafe-eval' {allowed}"
