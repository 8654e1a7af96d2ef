"""A PostgreSQL of ours: with which rights it runs, and what is left when it, or loadstone, ends before its time."""

import os
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from tests.real_servers import is_gone, wait_until

from loadstone.safety.errors import LoadstoneError, ServerGone, UserError
from loadstone.servers.postgresql.local import PostgresqlSettings
from loadstone.servers.postgresql.programs import find
from loadstone.servers.server import DeployContext

from .conftest import Users

pytestmark = pytest.mark.skipif(find("initdb") is None, reason="no PostgreSQL: scripts/apt installs it where it can")
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives rights away")
SERVES = """
import sys
from pathlib import Path
from loadstone.servers.server import DeployContext
from loadstone.servers.postgresql.local import PostgresqlSettings
server = PostgresqlSettings(settings={"fsync": False}).server("db")
server.start(DeployContext(work_root=Path(sys.argv[1])))
with server.control() as control:
    control.run_script("CREATE TABLE post (id INT);")
    print(server.pids["db"], control.count_rows("post"), flush=True)
if sys.argv[2:]:
    sys.stdin.read()
server.stop()
print(list(Path(sys.argv[1]).iterdir()))
"""
"""A program that starts one; with a second argument, until its input ends."""
RUNS = "import subprocess, sys, loadstone.servers.registry; subprocess.run([sys.executable, '-c', ''], check=True)"
"""One that ends well where another Python can be started, as for a guard."""
NOBODY = 65534


@pytest.mark.fault(
    "SQL reaches for files through PostgreSQL started by root", "the server has none of root's rights", area="users"
)
@as_root
def test_it_has_no_right_of_roots(users: Users, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("root's")
    secret.chmod(0o600)
    with users.control("postgres") as control:
        ((backend,),) = control.query("SELECT pg_backend_pid()")
        for pid in (users.server.pids["db"], backend):
            status = dict(line.split(":\t") for line in Path(f"/proc/{pid}/status").read_text().splitlines())
            assert {int(status[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {0}
            assert status["NoNewPrivs"] == "1"
        for statement in (f"SELECT pg_read_file('{secret}')", f"COPY pg_class TO '{secret}'"):
            with pytest.raises(LoadstoneError, match="ermission denied"):
                control.query(statement)
    assert secret.read_text() == "root's"


def test_its_folder_is_for_nobody_else(users: Users) -> None:
    process = users.server._process
    assert process is not None
    assert stat.S_IMODE(process.workspace.path.stat().st_mode) == 0o700
    written = [path for path in process.workspace.path.rglob("*") if "data" not in path.parts]
    assert [path for path in written if path.stat().st_mode & 0o027] == []


@as_root
def test_an_ordinary_user_starts_one() -> None:
    """Its folder is not below those of tests, which are root's own."""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    user = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for python in (sys.executable, f"/usr/bin/{name}"):
        command = [*user, python, "-B", "-c"]
        if not subprocess.run([*command, RUNS], env=environment, capture_output=True).returncode:
            break
    else:
        pytest.skip("no Python here that an ordinary user may run")
    folder = Path(tempfile.mkdtemp(prefix="test-"))
    os.chown(folder, NOBODY, NOBODY)
    try:
        done = subprocess.run([*command, SERVES, folder], env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines()[-1] == "[]"
    finally:
        folder.rmdir()


def test_when_loadstone_is_ended_nothing_is_left(tmp_path: Path) -> None:
    program = subprocess.Popen(
        [sys.executable, "-c", SERVES, tmp_path, "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert program.stdin is not None
    assert program.stdout is not None
    with program:
        pid = int(program.stdout.readline().split()[0])
        below = [pid, *(child.pid for child in psutil.Process(pid).children(recursive=True))]
        assert len(below) > 4
        program.send_signal(signal.SIGTERM)
        wait_until(lambda: all(is_gone(one) for one in below), 30.0)
        wait_until(lambda: list(tmp_path.iterdir()) == [], 30.0)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 MB."""
    folder = tmp_path / "small"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=64m,mode=700", "tmpfs", folder]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("nobody but root mounts a file system, and not everywhere")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=False)


def test_a_full_disk_is_said_in_one_line(small_disk: Path) -> None:
    server = PostgresqlSettings(settings={"fsync": False}).server("db")
    server.start(DeployContext(work_root=small_disk))
    try:
        with server.control() as control:
            control.query("CREATE UNLOGGED TABLE post (note TEXT)")
            with pytest.raises(ServerGone) as full, control.patient() as patient:
                patient.query("INSERT INTO post SELECT repeat('x', 1000) FROM generate_series(1, 100000)")
            assert control.is_full(full.value)
            assert "\n" not in str(full.value)
            assert control.count_rows("post") == 0
    finally:
        server.stop()
    filler = small_disk / "filler"
    filler.write_bytes(b"\0" * 40 * 1024**2)
    with pytest.raises(UserError, match=r"no room is left for its data; .*TMPDIR"):
        server.start(DeployContext(work_root=small_disk))
    assert list(small_disk.iterdir()) == [filler]
