"""Reading a manifest, of a subject or of a driver: within bounds, and with one line for what is wrong."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from loadstone.bounds import pinned
from loadstone.bounds.bounded_yaml import load_yaml
from loadstone.bounds.files import read_bytes, why
from loadstone.bounds.replies import shortened
from loadstone.errors import UserError
from loadstone.secrecy.known_secrets import learn
from loadstone.secrecy.places import secrets_of

LARGEST_BYTES = 1_000_000
M = TypeVar("M", bound=BaseModel)


def read_as(kind: str, path: Path, name: str, model: type[M], page: str) -> tuple[M, Path]:
    """The manifest of a file, or of a folder that holds one of this `name`; and its folder.

    Args:
        kind: `subject` or `driver`, for messages.
        path: of the file or folder.
        name: of the file, where the path is a folder's.
        model: what it must be.
        page: of the documentation.

    Raises:
        UserError: there is none, or it is none; names the field.
    """
    file = path / name if path.is_dir() else path
    try:
        data = load_yaml(pinned.check(file, read_bytes(file, LARGEST_BYTES)).decode("utf-8-sig"))
        for secret in secrets_of(data):
            learn(secret.value, sure=secret.sure)
        return model.model_validate(data), file.absolute().parent
    except OSError as error:
        raise UserError(f"{kind} '{path}': {file} cannot be read ({error.strerror}); write one, see {page}") from None
    except ValidationError as error:
        first = min(error.errors(include_url=False), key=lambda found: found["type"] != "extra_forbidden")
        where = shortened(".".join(str(part) for part in first["loc"])) or "manifest"
        said = first["msg"].removeprefix("Value error, ")
        if first["type"] == "extra_forbidden":
            said = "unknown key"
            if len(first["loc"]) == 1:
                said += f"; known are {', '.join(model.model_fields)}"
        raise UserError(f"{file}: {where}: {shortened(said, 200)}; see {page}") from None
    except (ValueError, OverflowError) as error:  # not UTF-8, too large, no regular file, no YAML, endless aliases
        raise UserError(f"{file}: {shortened(why(error), 200)}; see {page}") from None


def as_text(values: Any) -> Any:
    """Numbers and booleans of an environment as the shell would have them."""
    if not isinstance(values, Mapping):
        return values
    return {name: str(v).lower() if isinstance(v, bool) else str(v) for name, v in values.items()}
