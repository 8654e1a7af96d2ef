"""What a form sent: names and texts, bounded; `access.py` bounds its bytes."""

from collections.abc import Collection, Sequence
from urllib.parse import parse_qsl

from starlette.exceptions import HTTPException
from starlette.requests import Request

from loadstone.safety.errors import UserError
from loadstone.text.language import _

FIELDS_MAX = 2000
ENCODING = "application/x-www-form-urlencoded"


class Form:
    """The fields of a form, in their order."""

    def __init__(self, fields: Sequence[tuple[str, str]]) -> None:
        self.fields = tuple(fields)

    def one(self, name: str) -> str:
        """The text of a field, without blanks around it; empty where it is missing."""
        return next((value.strip() for key, value in self.fields if key == name), "")

    def raw(self, name: str) -> str:
        """The text of a field as it is."""
        return next((value for key, value in self.fields if key == name), "")

    def all(self, name: str) -> list[str]:
        """The texts of all fields of this name."""
        return [value for key, value in self.fields if key == name]

    def require_only(self, known: Collection[str]) -> None:
        """Raises UserError where it has a field that the page does not offer now: a choice would be left out."""
        for key, _value in self.fields:
            if key not in known:
                raise UserError(
                    "{field}: this form has no such field now; load its page again, and fill it in", field=key[:80]
                )

    def named(self, prefix: str) -> list[tuple[str, str]]:
        """What follows the prefix in the name of a field, and its text, without those that are empty."""
        found = [(key.removeprefix(prefix), value.strip()) for key, value in self.fields if key.startswith(prefix)]
        return [(key, value) for key, value in found if value]


async def form_of(request: Request) -> Form:
    """Reads a form. Raises HTTPException where it is none."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    body = await request.body()
    if body and kind != ENCODING:
        raise HTTPException(400, _("This is not a form of this page."))
    try:
        text = body.decode()
        return Form(parse_qsl(text, keep_blank_values=True, max_num_fields=FIELDS_MAX, errors="strict"))
    except ValueError:
        raise HTTPException(400, _("This form is not text in UTF-8, or has too many fields.")) from None
