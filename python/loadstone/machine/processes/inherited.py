"""Which variables of loadstone's own environment the programs inherit that it starts.

Servers, applications, drivers and builds get the ones listed here and no others. Another one may hold a secret, or
change what is measured (`GOGC`, `NODE_OPTIONS`, `JAVA_TOOL_OPTIONS`, `PYTHONPATH`), so a manifest names those that its
program needs in addition (`inherits`), and a run asks about each. What a reference names (`${env:NAME}`) goes only
where the reference stands.
"""

import os
from collections.abc import Collection
from typing import Literal

from loadstone.safety.secrets.references import variables

ALL: Literal["all"] = "all"
"""In place of names: the whole environment, for a command that the user typed."""
Names = Literal["all"] | tuple[str, ...]

RUNS = frozenset(
    {
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "LD_LIBRARY_PATH"),
        # Where programs of PATH are installed.
        *("JAVA_HOME", "ASDF_DIR", "ASDF_DATA_DIR", "PYENV_ROOT", "VOLTA_HOME", "CARGO_HOME", "RUSTUP_HOME"),
        # Which certificates this machine trusts.
        *("SSL_CERT_FILE", "SSL_CERT_DIR"),
    }
)
"""What a program needs to run, with the variables that begin with `LC_`."""
BUILDS = RUNS | {
    # How registries are reached. A proxy's address may hold a password: without it nothing could be downloaded.
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy"),
    *("CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO"),
    # Where clients of registries keep their settings and what they downloaded.
    *("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"),
    *("MAVEN_HOME", "M2_HOME", "MAVEN_OPTS", "MAVEN_ARGS", "GRADLE_USER_HOME", "GRADLE_OPTS", "JAVA_TOOL_OPTIONS"),
    *("GOROOT", "GOPATH", "GOCACHE", "GOMODCACHE", "GOTOOLCHAIN", "GOFLAGS"),
    *("GOPROXY", "GOSUMDB", "GOPRIVATE", "GONOPROXY", "GONOSUMDB", "GOINSECURE", "GOAUTH"),
    "NODE_OPTIONS",
    # Compilers.
    *("CC", "CXX", "CFLAGS", "CXXFLAGS", "LDFLAGS", "PKG_CONFIG_PATH"),
}
"""What a build needs in addition, with those that begin as `_OF_CLIENTS`."""
_LOCALE = ("LC_",)
_OF_CLIENTS = ("npm_config_", "NPM_CONFIG_", "PIP_")
"""Variables that begin so are settings of npm and pip; those of a registry may hold a log-in."""


def by_runs(more: Names = ()) -> frozenset[str]:
    """Return the names that a server, an application or a driver inherits; `more`: those that its manifest names."""
    return _inherited(RUNS, _LOCALE, more)


def by_builds(more: Names = ()) -> frozenset[str]:
    """Return the names that a build inherits; `more`: those that its manifest names."""
    return _inherited(BUILDS, _LOCALE + _OF_CLIENTS, more)


def _inherited(names: Collection[str], begin: tuple[str, ...], more: Names) -> frozenset[str]:
    if more == ALL:
        return frozenset(os.environ)
    listed = {name for name in os.environ if name in names or name.startswith(begin)}
    return frozenset(listed - variables() | set(more))
