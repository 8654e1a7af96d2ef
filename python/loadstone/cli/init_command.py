"""`loadstone init`: a commented experiment to start from."""

import re
from pathlib import Path

from loadstone.safety.errors import UserError

TEMPLATE = Path(__file__).with_name("first_experiment.yaml")
_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")


def write_experiment(file: Path) -> None:
    """Write the experiment, called as its file is where that is a name. Raises UserError; no file is overwritten."""
    if file.suffix not in (".yaml", ".yml"):
        raise UserError("init {file}: not the name of an experiment's file; write for example {file}.yaml", file=file)
    text = TEMPLATE.read_text()
    if _NAME.fullmatch(file.stem):
        text = text.replace("name: experiment\n", f"name: {file.stem}\n").replace("experiment.yaml", file.name)
    try:
        with file.open("x") as opened:
            opened.write(text)
    except FileExistsError:
        raise UserError("init {file}: there is such a file already; give another name", file=file) from None
    except OSError as error:
        raise UserError(
            "init {file}: cannot be written ({strerror}); give another name", file=file, strerror=error.strerror
        ) from None
