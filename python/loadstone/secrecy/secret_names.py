"""Which names say that their value is a secret: keys of settings, headers, variables, parameters of a URL."""

import re

_PARTS = re.compile(
    r"password|passwd|passphrase|secret|requirepass|masterauth|credential|api_?key|private_?key|auth_?token", re.I
)
"""Anywhere in a name: `tls-key-file-pass` has none of them, see `_LAST`."""
_LAST = frozenset({"pass", "pwd", "pw", "token", "jwt", "signature", "authorization"})
"""As the last word of a name. `tokens` is not among them: a factor may well be called so."""
_KEYS = frozenset(
    {
        *("api", "private", "secret", "session", "access", "signing", "encryption"),
        *("encrypt", "master", "shared", "account", "auth", "license", "csrf"),
    }
)
"""What stands before `key` in the name of a secret one."""
_NO_SECRETS = frozenset({"env", "file", "path", "set"})
"""A name that ends so holds where the secret is, or whether there is one."""
_VARIABLE = re.compile(
    r"token|pwd|pass|secret|credential|api_?key|private_?key|(?:^|_)(?:key|keys|auth|pw|salt|pepper|jwt|cookie)(?:$|_)",
    re.I,
)
_HEADER = frozenset(
    {
        *("authorization", "auth", "cookie", "token", "key", "apikey", "secret"),
        *("password", "signature", "session", "jwt", "csrf", "xsrf"),
    }
)
_PARAMETER = frozenset({"key", "sig", "auth", "sas", "hmac", "sid", "code"})


def is_secret(name: object) -> bool:
    """Whether a setting of this name holds a secret: `password`, `requirepass`, `api_key`, `DB_PASSWORD`."""
    if not isinstance(name, str):
        return False
    words = _words(name)
    if not words or words[-1] in _NO_SECRETS:
        return False
    keyed = words[-1] == "key" and len(words) > 1 and words[-2] in _KEYS
    return keyed or words[-1] in _LAST or _PARTS.search(name) is not None


def is_surely_secret(name: object) -> bool:
    """Whether the name leaves no doubt: its last word says so. `PASSWORD_HASHER` may hold `bcrypt`."""
    words = _words(name) if isinstance(name, str) else []
    keyed = words[-1:] == ["key"] and len(words) > 1 and words[-2] in _KEYS
    return keyed or (bool(words) and (words[-1] in _LAST or _PARTS.search(words[-1]) is not None))


def is_secret_variable(name: object) -> bool:
    """Whether a variable of the environment may hold one. Its words are anybody's: every `*_KEY` counts, too."""
    return isinstance(name, str) and (is_secret(name) or _VARIABLE.search(name) is not None)


def is_secret_header(name: object) -> bool:
    """Whether a header of a request carries a secret: `Authorization`, `Cookie`, `X-Api-Key`, `X-Session`."""
    return isinstance(name, str) and (is_secret(name) or not _HEADER.isdisjoint(_words(name)))


def is_secret_parameter(name: str) -> bool:
    """Whether a parameter of a URL's query carries a secret: `token`, `api_key`, `key`, `sig`, `X-Amz-Signature`."""
    words = _words(name)
    return is_secret(name) or (len(words) == 1 and words[0] in _PARAMETER)


def _words(name: str) -> list[str]:
    """The words of `X-Api-Key`, `api_key`, `apiKey` or `spring.datasource.password`, in small letters."""
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return [word for word in re.split(r"[^a-z0-9]+", apart.lower()) if word]
