"""Whether a folder is a run's: told at once, before what reads it is loaded."""

import os
from collections.abc import Sequence
from pathlib import Path

from loadstone.bounds.beneath import open_file
from loadstone.errors import UserError
from loadstone.record.file_names import ENVIRONMENT, EXPERIMENT, PLAN


def require_run(path: Path, option: str = "", names: Sequence[str] = (EXPERIMENT, ENVIRONMENT, PLAN)) -> None:
    """Returns if these files, which every run has, can be opened. `option` is what the line begins with.

    Raises:
        UserError: one is missing, a link, or no file; the line names it.
    """
    for name in names:
        try:
            os.close(open_file(path / name))
        except (FileNotFoundError, NotADirectoryError):
            raise UserError(
                f"{option}{path}: not a run's folder ({name} is missing); give a folder under runs/"
            ) from None
        except OSError as error:
            raise UserError(f"{option}{path / name}: cannot be read: {error.strerror}") from None
