"""What each agent of a fleet is given: the whole plan, and its number. Each computes its own share from that alone."""

from collections.abc import Collection, Sequence

from pydantic import ValidationError

from loadstone.errors import UserError
from loadstone.language import said
from loadstone.plan.drive_plan import Closed, Plan, Share


def shares_of(plans: Sequence[Plan], agents: int, *, one_machine: bool) -> list[list[Plan]]:
    """The plans of so many agents, or of as many as have something to do in each of these.

    Each agent has the plan's threads, or fewer where there are fewer users or connections. CPUs are this machine's:
    elsewhere threads are not pinned, and agents beside each other take turns over them.
    """
    of = max(1, min(agents, *map(_most_threads, plans)))
    shared = [_shares_of(plan, of, one_machine=one_machine) for plan in plans]
    return [[shares[number] for shares in shared] for number in range(of)]


def _shares_of(plan: Plan, of: int, *, one_machine: bool) -> list[Plan]:
    threads = max(1, min(plan.threads, _most_threads(plan) // of))
    changed: dict[str, object] = {"threads": threads, "start_at_unix_ns": None}
    crowded = one_machine and of * threads > len(plan.cpus)
    if crowded:  # one that stays awake would take another's CPU
        changed["model"] = plan.model.model_copy(update={"spin_us": 0.0})
    shared = plan.model_copy(update=changed)
    return [
        shared.model_copy(
            update={
                "share": Share(number=number, of=of),
                "cpus": _turned(plan.cpus, number * threads) if one_machine else (),
            }
        )
        for number in range(of)
    ]


def require_shareable(plans: Collection[Plan], agents: int, option: str) -> None:
    """Raises UserError where a plan cannot be divided among so many; with the field and what helps."""
    for plan in plans:
        try:
            Plan.model_validate({**plan.model_dump(), "share": {"number": 0, "of": agents}})
        except ValidationError as error:
            problem = error.errors(include_url=False)[0].get("ctx", {}).get("error", error)
            raise UserError(said("{option}: {problem}", option=option, problem=problem)) from None


def _most_threads(plan: Plan) -> int:
    """All threads together that have a connection to each endpoint that operations choose, and of users one."""
    apart = any(endpoint.slots or endpoint.replica_of is not None for endpoint in plan.endpoints)
    least = sum(endpoint.in_service for endpoint in plan.endpoints) if apart else 1
    most = plan.pool.connections // max(1, least)
    return min(most, plan.model.users) if isinstance(plan.model, Closed) else most


def _turned(cpus: Sequence[int], by: int) -> tuple[int, ...]:
    """So that the first thread of the next agent has the next CPU."""
    at = by % len(cpus) if cpus else 0
    return (*cpus[at:], *cpus[:at])
