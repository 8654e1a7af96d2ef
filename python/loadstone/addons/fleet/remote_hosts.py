"""What servers and applications on machines of the fleet (`host: db-1`) can have, checked before anything starts."""

from loadstone.experiment.plan.required import named_host
from loadstone.experiment.plan.run_plan import RunPlan
from loadstone.machine.placement import OWN_CPUS
from loadstone.safety.errors import UserError
from loadstone.servers.delay_line import link_of
from loadstone.text.message import said


def require_hosts_can(run_plan: RunPlan) -> None:
    """Raises UserError where a part is to run on a named host, and cannot; names the part and the remedy."""
    for trial in run_plan.every_trial:
        for name, settings in trial.servers.items():
            at = named_host(settings)
            if at is None:
                continue
            if link_of(settings) is not None:
                what = said("link: the way there is a real network, and a line of loadstone's is of this machine")
                raise UserError("servers.{name}.{what}; leave link or host out", name=name, what=what)
            if settings.get("cpus") == OWN_CPUS:
                what = said("cpus: CPUs are chosen on this machine alone, and the server is on {at}", at=at)
                raise UserError(
                    "servers.{name}.{what}; give it a host of its own, and leave cpus out", name=name, what=what
                )
    for crash in run_plan.crashes:
        at = named_host(crash.trial.servers[crash.crash.server])
        if at is not None:
            what = said("a server on {at} is not killed from here, as the moment cannot be held", at=at)
            raise UserError("crashes.{crash}: {what}; leave its host out", crash=crash.crash.name, what=what)
