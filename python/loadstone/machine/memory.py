"""How much memory this machine has."""

import os


def installed_bytes() -> int | None:
    """All of it, used or not; None where the system does not tell."""
    try:
        memory_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        return None
    return memory_bytes if memory_bytes > 0 else None
