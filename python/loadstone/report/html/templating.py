"""How HTML is made of templates, of a report and of the pages of a server: what others wrote is escaped."""

from collections.abc import Callable, Mapping
from typing import Any

import jinja2

from loadstone.language import speak_in_templates, translated
from loadstone.report import format as fmt
from loadstone.report import summary


def templates_of(package: str, filters: Mapping[str, Callable[..., Any]]) -> jinja2.Environment:
    """The templates in the folder `templates` of a package; `filters` beside those that all have."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader(package, "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    speak_in_templates(environment)
    environment.filters |= {
        "said": translated, "part": fmt.part, "plain": fmt.plain, "cell": fmt.cell, "sentence": fmt.sentence,
        "count": fmt.count, "rate": fmt.rate, "duration": fmt.duration, "percent": fmt.percent,
        "seconds": fmt.seconds, "check_title": summary.check_title,
    } | dict(filters)  # fmt: skip
    return environment
