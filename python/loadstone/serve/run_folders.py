"""The folder of a run that a page names: one of those that are there, found by its name, never by a path.

A name of a request is compared with the names of the list; nothing is opened by it. Links are no runs.
"""

import os
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request

from loadstone.bounds.beneath import is_file
from loadstone.language import _
from loadstone.record.run_files import PLAN
from loadstone.serve.place import place_of


def folder_of(request: Request) -> Path:
    """The folder of the run `{name}` in the address. Raises HTTPException 404 where there is none."""
    return folder_named(request, request.path_params["name"])


def folder_named(request: Request, name: str) -> Path:
    """The folder of a run. Raises HTTPException 404 where there is none of this name, or it is not shown here."""
    place = place_of(request)
    if place.only_run in (None, name):
        try:
            with os.scandir(place.runs) as entries:
                found = any(one.name == name and one.is_dir(follow_symlinks=False) for one in entries)
        except OSError:
            found = False
        if found and is_file(place.runs / name / PLAN):
            return place.runs / name
    raise HTTPException(404, _("There is no run of this name here: it was removed, moved or renamed."))
