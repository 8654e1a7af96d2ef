"""Certificates of a fleet: who gets which, what each is good for, and what is said of one that is not."""

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509

from loadstone.addons.fleet import certificates
from loadstone.addons.fleet.certificates import PARTS, Credential
from loadstone.safety.errors import UserError


def uses(credential: Credential) -> set[str]:
    extension = x509.load_pem_x509_certificate(credential.own.encode()).extensions
    return {use._name for use in extension.get_extension_for_class(x509.ExtendedKeyUsage).value}


def test_the_command_cannot_pose_as_a_scheduler_or_an_agent() -> None:
    issued = certificates.made()
    assert uses(issued["command"]) == {"clientAuth"}
    assert uses(issued["scheduler"]) == uses(issued["agent"]) == {"clientAuth", "serverAuth"}


def test_they_are_of_one_authority_whose_key_is_nowhere() -> None:
    issued = certificates.made()
    authority = x509.load_pem_x509_certificate(issued["agent"].authority.encode())
    for part in PARTS:
        assert issued[part].authority == issued["agent"].authority
        x509.load_pem_x509_certificate(issued[part].own.encode()).verify_directly_issued_by(authority)
        assert issued[part].own.count("PRIVATE KEY") == 2  # its own: one beginning, one end
    assert "PRIVATE KEY" not in issued["agent"].authority


def test_python_takes_them_with_its_strictest_checks(tmp_path: Path) -> None:
    issued = certificates.made()
    certificates.write(tmp_path / "them", issued)
    for purpose in (ssl.Purpose.SERVER_AUTH, ssl.Purpose.CLIENT_AUTH):
        context = ssl.create_default_context(purpose, cadata=issued["agent"].authority)
        context.verify_flags |= ssl.VERIFY_X509_STRICT
        context.load_cert_chain(tmp_path / "them" / "agent.pem")


def test_no_key_is_shown_where_a_credential_is() -> None:
    assert "PRIVATE" not in repr(certificates.made())


def test_they_are_their_owners_alone(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    certificates.write(folder, certificates.made())
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()} == dict.fromkeys(
        ("ca.pem", "scheduler.pem", "agent.pem", "command.pem"), 0o600
    )


def test_new_ones_replace_all(tmp_path: Path) -> None:
    for _ in range(2):
        certificates.write(tmp_path, certificates.made())
        tmp_path.chmod(0o700)
    for part in PARTS:
        certificates.read(tmp_path, part)


def test_a_folder_to_which_others_can_write_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    with pytest.raises(UserError, match="others can write to"):
        certificates.write(tmp_path, certificates.made())


def test_one_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"command\.pem is not there; copy it .*LOADSTONE_FLEET_CERTIFICATES"):
        certificates.read(tmp_path, "command")


@pytest.mark.fault("everybody can read a certificate", "it is not used", area="fleet")
def test_one_that_everybody_can_read(tmp_path: Path) -> None:
    certificates.write(tmp_path, certificates.made())
    (tmp_path / "agent.pem").chmod(0o644)
    with pytest.raises(UserError, match=r"everybody on this machine can read .*agent\.pem; chmod 600 it"):
        certificates.read(tmp_path, "agent")
    (tmp_path / "agent.pem").chmod(0o640)  # as a mounted secret is
    certificates.read(tmp_path, "agent")


def test_one_that_cannot_be_read(tmp_path: Path) -> None:
    certificates.write(tmp_path, certificates.made())
    (tmp_path / "agent.pem").unlink()
    (tmp_path / "agent.pem").mkdir(mode=0o700)
    with pytest.raises(UserError, match=r"agent\.pem cannot be read \(Is a directory\)"):
        certificates.read(tmp_path, "agent")


@pytest.mark.parametrize(
    "text", ["", "no certificate", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"]
)
def test_what_is_no_certificate(text: str, tmp_path: Path) -> None:
    certificates.write(tmp_path, certificates.made())
    (tmp_path / "agent.pem").write_text(text)
    with pytest.raises(UserError, match="holds no certificate; make new ones"):
        certificates.read(tmp_path, "agent")


def test_one_of_another_making(tmp_path: Path) -> None:
    certificates.write(tmp_path, certificates.made())
    (tmp_path / "agent.pem").write_text(certificates.made()["agent"].own)
    with pytest.raises(UserError, match=r"agent\.pem is not of .*ca\.pem"):
        certificates.read(tmp_path, "agent")


@pytest.mark.fault("a certificate of a fleet expired", "its date and what to do are named", area="fleet")
def test_one_that_expired_and_one_of_the_future(tmp_path: Path) -> None:
    certificates.write(tmp_path, certificates.made(days=1, now=datetime(2026, 1, 1, 12, tzinfo=UTC)))
    with pytest.raises(UserError, match=r"scheduler\.pem expired 2026-01-02 12:00 UTC, and it is 2026-01-03 00:00"):
        certificates.read(tmp_path, "scheduler", now=datetime(2026, 1, 3, tzinfo=UTC))
    with pytest.raises(UserError, match="is not good before 2026-01-01 11:50 UTC"):
        certificates.read(tmp_path, "scheduler", now=datetime(2025, 12, 31, tzinfo=UTC))


def test_they_live_for_days() -> None:
    until = certificates.expires(certificates.made()["command"])
    assert timedelta(days=6) < until - datetime.now(UTC) <= timedelta(days=7)


def test_where_they_are_looked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(certificates.FOLDER_VARIABLE, str(tmp_path))
    assert certificates.default_folder() == tmp_path
    monkeypatch.delenv(certificates.FOLDER_VARIABLE)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert certificates.default_folder() == tmp_path / "loadstone" / "fleet"


def test_a_user_without_a_home_is_told_what_to_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container that was given a number alone."""
    monkeypatch.setenv(certificates.FOLDER_VARIABLE, "~nobody-of-that-name/x")
    with pytest.raises(UserError, match=r"~nobody-of-that-name/x has no home folder here; name their folder by"):
        certificates.default_folder()
