"""A run's folder of someone else keeps a command line; `--resume` takes it, and it is not the user's word."""

import shutil

import pytest

from .conftest import CALM, Lab

TYPED = ("--set", "servers.redis.settings.enable-debug-command=yes")
"""What may reach beyond the server, and so asks; the server is loadstone's own."""
RAN = (0, 3)
"""The statuses of a run that measured: on a busy machine its figures may be invalid."""


@pytest.mark.fault("`--resume` takes options from someone's folder")
def test_the_options_of_a_resumed_folder_ask_unless_the_run_began_here(lab: Lab) -> None:
    cache = lab.folder / "cache"
    here = {"XDG_CACHE_HOME": str(cache)}
    quick = ("--set", "tables.0.vary={operation: [set], workers: [1]}")
    done = lab.loadstone("run", lab.experiment(calm=CALM), *quick, *TYPED, **here)
    assert done.status in RAN, done.err
    assert lab.loadstone("run", "--resume", lab.run(), **here).status in RAN

    shutil.rmtree(cache / "loadstone" / "trusted")  # as where it was not run
    refused = lab.loadstone("run", "--resume", lab.run(), **here)
    assert refused.status == 2
    assert "sets on a server redis: enable-debug-command: yes" in refused.error_line
    assert "add --trust" in refused.error_line
    trusted = lab.loadstone("run", "--resume", lab.run(), "--trust", **here)
    assert trusted.status in RAN, trusted.err
    assert lab.loadstone("run", "--resume", lab.run(), **here).status in RAN
