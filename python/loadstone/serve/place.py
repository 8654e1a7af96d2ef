"""What one server of pages shows: the folders of runs and of experiments, and who may see them."""

import secrets
from dataclasses import dataclass, field
from pathlib import Path

from starlette.requests import Request

from loadstone.runs import RUNS


@dataclass(frozen=True)
class Place:
    """What the pages show; `place_of(request)` has it."""

    runs: Path = RUNS
    """The folder of all runs."""
    experiments: Path = Path()
    """The folder of the user's own experiments."""
    only_run: str | None = None
    """The name of the one run that is shown (`loadstone run --watch`); None: everything."""
    secure: bool = False
    """Whether the pages are sent over TLS."""
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    """Whoever has it may do what the user of this process may."""
    cookie: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    """What a browser that showed the token shows from then on."""


def place_of(request: Request) -> Place:
    """The place of the server that answers."""
    place = request.app.state.place
    assert isinstance(place, Place)
    return place
