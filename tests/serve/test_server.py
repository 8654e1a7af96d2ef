"""Where the pages are offered, and to whom: over TLS or not, all or of one run, and how they end."""

import re
import signal
import ssl
from pathlib import Path

import httpx
import pytest
from tests.servers import Certificates

from loadstone.errors import UserError
from loadstone.serve.place import Place
from loadstone.serve.server import Listening, serve

from .conftest import Pages, serving


@pytest.mark.parametrize(
    ("listening", "said"),
    [
        (Listening("0.0.0.0"), "--listen 0.0.0.0: who reads the network could start programs here; add --cert"),
        (Listening("box.example"), "--listen box.example: who reads the network"),
        (Listening("::"), "--listen ::: who reads the network"),
        (Listening(certificate=Path("x.pem")), "--cert, --key: give both"),
        (Listening(certificate=Path("no.pem"), key=Path("no.pem"), port=0), "--cert no.pem: No such file"),
        (Listening("192.0.2.1", insecure=True), "cannot listen at 192.0.2.1"),
    ],
)
def test_it_is_offered_to_others_only_where_it_is_meant(listening: Listening, said: str) -> None:
    with pytest.raises(UserError, match=re.escape(said)):
        serve(Place(), listening, lambda _: None)


def test_over_tls_the_cookie_is_for_tls_alone(tmp_path: Path, certificates: Certificates) -> None:
    words = ("--listen", "127.0.0.1", "--cert", str(certificates.cert), "--key", str(certificates.key))
    with serving(tmp_path, *words) as pages:
        assert pages.base.startswith("https://")
        trusting = ssl.create_default_context(cafile=str(certificates.ca))
        with httpx.Client(base_url=pages.base.replace("127.0.0.1", "localhost"), verify=trusting) as client:
            answer = client.get("/", params={"open": pages.token})
        cookie = answer.headers["set-cookie"]
        assert cookie.startswith("__Host-")
        assert "; Secure" in cookie


def test_a_taken_port_is_said_in_a_line(pages: Pages) -> None:
    port = int(pages.base.rpartition(":")[2])
    with pytest.raises(UserError, match=f"--port {port}: cannot listen at 127.0.0.1"):
        serve(Place(), Listening(port=port), lambda _: None)


def test_of_one_run_no_other_page_is_there(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / "runs" / name).mkdir(parents=True)
        (tmp_path / "runs" / name / "plan.json").write_text("{}")
    with serving(tmp_path, "--run", "a") as pages:
        for path in (
            "/runs",
            "/experiments/aof-modes",
            "/edit",
            "/doctor",
            "/runs/b",
            "/runs/b/stream",
            "/compare",
        ):
            assert pages.client.get(path).status_code == 404, path
        for path in ("/quick/start", "/fleet", "/edit/save", "/runs/b/stop", "/runs/b/resume", "/runs/a/remove"):
            assert pages.client.post(path).status_code in (404, 405), path


@pytest.mark.parametrize("name", ["link", "%2e%2e", "..%2fexperiments", "nothing", "%00", "a%2f..%2fa", "file"])
def test_a_name_is_one_of_the_folders_runs(pages: Pages, name: str) -> None:
    """A link to a run elsewhere, a folder that is no run, a path."""
    elsewhere = pages.runs.parent / "elsewhere"
    elsewhere.mkdir(exist_ok=True)
    (elsewhere / "plan.json").write_text("{}")
    link, nothing = pages.runs / "link", pages.runs / "nothing"
    if not link.is_symlink():
        link.symlink_to(elsewhere)
        nothing.mkdir()
        (nothing / "plan.json").symlink_to(elsewhere / "plan.json")
        (pages.runs / "file").write_text("")
    for path in (f"/runs/{name}", f"/runs/{name}/stream"):
        assert pages.client.get(path).status_code in (303, 404), path
    for path in (f"/runs/{name}/stop", f"/runs/{name}/resume"):
        assert pages.client.post(path).status_code in (404, 405), path


def test_ctrl_c_ends_it_quietly(tmp_path: Path) -> None:
    with serving(tmp_path) as pages:
        pages.process.send_signal(signal.SIGINT)
        assert pages.process.wait(30) == 0
    assert (tmp_path / "serve.err").read_text() == ""
