"""Loads what describing any experiment needs: children of `reader_process.py` are forked from a process that has it."""

import gc

from loadstone.addons.pages import command_preview, whole_command
from loadstone.experiment.plan.design import run_design
from loadstone.experiment.software import SOFTWARE
from loadstone.experiment.spec.experiment import Experiment
from loadstone.run import actions, confinement, consent, describe
from loadstone.servers import registry

__all__ = [
    "Experiment",
    "actions",
    "command_preview",
    "confinement",
    "consent",
    "describe",
    "run_design",
    "whole_command",
]

for _name in SOFTWARE:
    registry.room(_name)
gc.freeze()  # a child that collects would copy all of it
