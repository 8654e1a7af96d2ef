"""What an installed program prints, as its version."""

import shutil
import subprocess
from pathlib import Path


def output_of(program: str, *arguments: str) -> str | None:
    """What a program prints; None where it is not installed or does not run."""
    place = shutil.which(program)
    if place is None:
        return None
    try:
        done = subprocess.run([Path(place), *arguments], capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout + done.stderr
