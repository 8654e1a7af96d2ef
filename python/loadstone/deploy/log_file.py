"""Where the log of a part is kept: in the run's folder, as a file of its own, or in the part's temporary folder."""

import os
from pathlib import Path

from loadstone.bounds.beneath import NotOfFolder, make_folder, open_file
from loadstone.deploy.provider import DeployContext
from loadstone.errors import UserError


def log_of(what: str, name: str, context: DeployContext, otherwise: Path) -> tuple[Path, Path]:
    """The log `name` of a part, there and open to be appended to, and the folder from which on no link leads to it.

    `what` names the part in an error; `otherwise` is the folder where the context has none.

    Raises:
        UserError: the log, or a folder on the way to it, is a link or no file.
        OSError: it cannot be made.
    """
    folder = (context.log_folder or otherwise).absolute()
    within = folder if context.log_folder is None or context.run_folder is None else context.run_folder.absolute()
    within.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        make_folder(folder, within)
        os.close(open_file(folder / name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, within))
    except NotOfFolder as error:
        raise UserError(f"{what}: its log cannot be written: {error}") from None
    return folder / name, within
