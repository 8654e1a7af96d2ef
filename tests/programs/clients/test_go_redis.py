"""The program of go-redis: vetted, and what is its own beside the contract."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.programs.clients.loads import Drive, plan, require_all_correct
from tests.real_servers import Certificates, UserRedis

from loadstone.experiment.plan.endpoints import Endpoint, Tls
from loadstone.programs.clients.chosen import chosen_driver
from loadstone.programs.clients.program import DriverRefused

FOLDER = Path(__file__).parents[3] / "clients" / "go-redis"


def go(*arguments: str) -> subprocess.CompletedProcess[str]:
    assert shutil.which("go"), "Go is missing: scripts/go installs it"
    return subprocess.run(["go", *arguments], cwd=FOLDER, capture_output=True, text=True, check=False)


def test_go_finds_nothing_to_mend() -> None:
    vetted = go("vet", "-trimpath", "./...")  # as it is built: else Go compiles its own library a second time
    assert (vetted.returncode, vetted.stderr) == (0, "")
    if shutil.which("gofmt"):  # Go from PyPI comes without it
        formatted = subprocess.run(["gofmt", "-l", "."], cwd=FOLDER, capture_output=True, text=True, check=True)
        assert formatted.stdout == ""


def test_its_manifest_names_the_version_that_it_is_built_with() -> None:
    listed = go("list", "-m", "-f", "{{.Version}}", "github.com/redis/go-redis/v9").stdout.strip()
    assert listed == f"v{chosen_driver('go-redis').manifest.version}"


def test_it_verifies_a_certificate(
    drive: Drive, user_redis: Callable[..., UserRedis], debian_redis: Path, certificates: Certificates
) -> None:
    files = ["--tls-cert-file", str(certificates.cert), "--tls-key-file", str(certificates.key)]
    options = [*files, "--tls-ca-cert-file", str(certificates.ca), "--tls-auth-clients", "no"]
    theirs = user_redis(*options, binary=debian_redis, tls=True)
    endpoint = Endpoint(host="localhost", port=theirs.port, tls=Tls(ca_file=str(certificates.ca)))
    require_all_correct(drive("go-redis", plan(theirs.port, endpoints=(endpoint,))))
    stranger = endpoint.model_copy(update={"tls": Tls(ca_file=str(certificates.other_ca))})
    with pytest.raises(DriverRefused, match="certificate signed by unknown authority"):
        drive("go-redis", plan(theirs.port, endpoints=(stranger,)))
