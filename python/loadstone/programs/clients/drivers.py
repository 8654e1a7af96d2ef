"""The drivers of a run: the native engine, and programs of client libraries, built before the first trial."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from loadstone.drivers.driver import Driver
from loadstone.experiment.plan.drive_plan import Plan
from loadstone.experiment.plan.run_plan import RunPlan
from loadstone.experiment.spec.driver_names import NATIVE
from loadstone.programs.build import built
from loadstone.programs.clients.chosen import ChosenDriver, chosen_drivers
from loadstone.programs.clients.guarded_program import GuardedProgram, Guards
from loadstone.programs.clients.program_driver import ProgramDriver
from loadstone.safety.bounds import pinned_files
from loadstone.servers.server import DeployContext


@dataclass
class ClientDriver:
    """One that is a program, ready to drive."""

    chosen: ChosenDriver
    driver: Driver
    source: str
    """The hash of what it was built from; empty where nothing is built."""


@dataclass
class Drivers:
    """What makes the load of each trial."""

    native: Driver
    """Driver of this machine; it also stores data and warms up, where a fleet drives."""
    elsewhere: Driver | None = None
    """What drives in its place."""
    programs: Mapping[str, ClientDriver] = field(default_factory=dict)
    pids: set[int] = field(default_factory=set)
    """The guards of the programs that run now: what they started makes the load."""

    def of(self, word: str) -> Driver:
        """The driver of a trial, by `PlannedTrial.driver`."""
        return self.elsewhere or self.native if word == NATIVE else self.programs[word].driver

    def of_this_machine(self, word: str) -> Driver:
        """Return the driver where one machine is meant: a crash, after which every acknowledged write is looked up."""
        return self.native if word == NATIVE else self.programs[word].driver

    def share(self, word: str, plan: Plan) -> Plan:
        """The plan as the driver gets it."""
        return plan if word == NATIVE else self.programs[word].chosen.share(plan)

    def stop(self) -> None:
        """End the drive of whichever drives, and later ones at once. From any thread, and more than once."""
        self.native.stop()
        if self.elsewhere is not None:
            self.elsewhere.stop()
        for program in self.programs.values():
            program.driver.stop()

    def details(self) -> dict[str, dict[str, object]]:
        """For the environment's record: what each program is, and what it was built from."""
        return {
            word: {
                "name": program.chosen.manifest.name,
                "library": program.chosen.manifest.library,
                "version": program.chosen.manifest.version,
                "options": program.chosen.options,
                "source": program.source,
            }
            for word, program in self.programs.items()
        }


def add_programs(drivers: Drivers, run_plan: RunPlan, context: DeployContext) -> None:
    """Build the programs that a run needs, those that are not in the cache.

    Raises:
        UserError: one does not build; with the compiler's first error and the log's place.
        Interrupted: the user requested a stop.
    """
    drivers.programs = {
        word: client_driver(chosen, context, drivers.pids) for word, chosen in chosen_drivers(run_plan).items()
    }


def client_driver(chosen: ChosenDriver, context: DeployContext, pids: Guards | None = None) -> ClientDriver:
    """A driver that is a program, built. `pids`: where it is noted what runs. Raises as `add_programs`."""
    manifest = chosen.manifest
    place = built(manifest, chosen.folder, context, "driver", chosen.other, chosen.called)

    def launch(share: Plan) -> GuardedProgram:
        pinned_files.check_files(
            pinned_files.named_files(manifest.run.command, chosen.folder, {"folder": str(chosen.folder)})
        )
        return GuardedProgram(manifest, place, share.cpus, context, pids)

    library = f"{manifest.library} {manifest.version}"
    driver = ProgramDriver(manifest.name, launch, chosen.options, manifest.run.ready_within_s, library)
    return ClientDriver(chosen, driver, place.name if manifest.build is not None else "")
