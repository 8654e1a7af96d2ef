"""How much memory this machine has."""

import os


def installed_bytes() -> int | None:
    """All of it, used or not; None where the system does not tell."""
    try:
        found = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        return None
    return found if found > 0 else None
