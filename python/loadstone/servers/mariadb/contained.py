"""A MariaDB in a container."""

from collections.abc import Sequence

from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.servers.containers.contained import ANYWHERE, Contents, Settings
from loadstone.servers.mariadb.control import MariaDbControl
from loadstone.servers.mariadb.local import check_settings, init_text, options_text, why_it_ended
from loadstone.servers.server import ConfigValue, Module, ServerFacts
from loadstone.servers.sql.session import DATABASE
from loadstone.text.message import AnyText, said
from loadstone.text.problem import Problem


def check(settings: Settings, modules: Sequence[Module]) -> None:
    """Returns if a container of ours can be given these settings. Raises ValueError."""
    check_settings(settings)
    if modules:
        raise Problem("'modules': a MariaDB has none; leave the key out")


class ContainedMariaDb:
    """A MariaDB whose image reads `/etc/mysql/mariadb.conf.d`, as the official one and Debian's do."""

    port = 3306
    program = "mariadbd"
    username: str | None = DATABASE
    options, init, root_password = (
        "/etc/mysql/mariadb.conf.d/zz-loadstone.cnf",
        "/loadstone-init.sql",
        "/loadstone-root-password",
    )

    def contents(self, program: str, password: str, volumes: Sequence[str], settings: Settings) -> Contents:  # noqa: ARG002
        """See `Contained.contents`. The data lies where the image has it."""
        ours: dict[str, ConfigValue] = {"bind_address": ANYWHERE, "port": self.port, "skip_name_resolve": True}
        files = {
            self.options: options_text(settings, {**ours, "user": "mysql"}),
            self.init: init_text("%", password),
            self.root_password: password,
        }
        return Contents(
            [program, f"--init-file={self.init}"], files, {"MARIADB_ROOT_PASSWORD_FILE": self.root_password}
        )

    def control(self, endpoint: Endpoint, timeout_s: float) -> MariaDbControl:
        """See `Contained.control`."""
        return MariaDbControl(endpoint, DATABASE, timeout_s)

    def read_back(self, endpoint: Endpoint, settings: Settings) -> tuple[ServerFacts, dict[str, str], list[AnyText]]:
        """See `Contained.read_back`."""
        with self.control(endpoint, 5.0) as control:
            return control.read_back(settings)

    def why_it_ended(self, log: Sequence[str]) -> AnyText:
        """See `Contained.why_it_ended`."""
        return why_it_ended(log, said("free some where the container engine keeps its containers"))
