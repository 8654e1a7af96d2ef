"""What other drives did on the same servers at the same time, of a condition that was measured in rounds with others.

A server counts the commands of all of them together: its counters are held against the sum.
"""

from collections.abc import Sequence

from loadstone.drive.outcome import CommandRecord
from loadstone.record.facts import CompanyFacts
from loadstone.record.keys_added import keys_added
from loadstone.record.observation import Drive


def company_of(drives: Sequence[Drive]) -> CompanyFacts:
    """The sum over these drives. At least one must be given."""
    commands: dict[str, CommandRecord] = {}
    for drive in drives:
        for name, record in drive.record.commands.items():
            before = commands.get(name, CommandRecord(sent=0, replied=0))
            commands[name] = before + record
    added = [keys_added(drive.plan, drive.record.total) for drive in drives]
    known = [one for one in added if one is not None]
    return CompanyFacts(
        drives=len(drives),
        commands=commands,
        bytes_sent=sum(drive.record.bytes_sent for drive in drives),
        keys=(sum(low for low, _ in known), sum(high for _, high in known)) if len(known) == len(added) else None,
        loaded=all(drive.plan.keys.loaded for drive in drives),
    )
