"""Who may see a page: each way in that must be closed, against a real server."""

import http.client
import socket
from urllib.parse import urlsplit

import httpx
import pytest

from loadstone.addons.pages.access import BODY_BYTES_MAX, may_host

from .conftest import Pages


def stranger(pages: Pages, **headers: str) -> httpx.Client:
    """A client without the cookie."""
    return httpx.Client(base_url=pages.base, headers=headers, timeout=30)


def raw(pages: Pages, request: bytes) -> bytes:
    """What the server answers to these bytes, up to 64 kB or its end."""
    host, port = pages.base.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=20) as wire:
        wire.sendall(request)
        answer = b""
        while b"\r\n\r\n" not in answer and (more := wire.recv(65536)):
            answer += more
    return answer


@pytest.mark.parametrize("path", ["/", "/doctor", "/static/loadstone.css", "/nowhere", "/runs/x/events"])
def test_without_the_token_nothing_is_answered(pages: Pages, path: str) -> None:
    with stranger(pages) as client:
        for method in ("GET", "HEAD", "POST", "PUT", "OPTIONS"):
            answer = client.request(method, path)
            assert answer.status_code == 403
            assert "loadstone</a>" not in answer.text
            assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("token", ["", "x", "x" * 43, "%00", "é"])
def test_a_wrong_token_opens_nothing(pages: Pages, token: str) -> None:
    with stranger(pages) as client:
        answer = client.get("/", params={"open": token})
        assert (answer.status_code, "set-cookie" in answer.headers) == (403, False)
        client.cookies.set(f"loadstone{urlsplit(pages.base).port}", token.encode().hex())
        assert client.get("/").status_code == 403


def test_the_token_is_shown_once_and_leaves_the_address(pages: Pages) -> None:
    with stranger(pages) as client:
        answer = client.get("/doctor", params={"open": pages.token, "a": "b c"})
        assert (answer.status_code, answer.headers["location"]) == (303, "/doctor?a=b+c")
        cookie = answer.headers["set-cookie"]
        assert {"HttpOnly", "SameSite=Strict", "Path=/"} < {part.strip() for part in cookie.split(";")}
        assert pages.token not in cookie
        assert client.get("/").status_code == 200


@pytest.mark.parametrize(
    ("to", "there"),
    [
        ("/runs?find=a", "/runs?find=a"),
        ("/runs/한", "/runs/%ED%95%9C"),
        ("/\\evil.example", "/%5Cevil.example"),
        *((wrong, "/") for wrong in ("//evil.example/", "http://evil.example", "\t//evil.example", "")),
    ],
)
def test_a_language_leads_back_to_a_page_of_this_server_alone(pages: Pages, to: str, there: str) -> None:
    answer = pages.client.get("/language/en", params={"to": to})
    assert (answer.status_code, answer.headers["location"]) == (303, there)


@pytest.mark.parametrize(
    ("header", "status"), [("Content-Type: text/plain", 400), ("HX-Request: true", 400), ("Cookie: a=b", 200)]
)
def test_of_a_header_that_stands_twice_none_counts(pages: Pages, header: str, status: int) -> None:
    cookie = "; ".join(f"{name}={value}" for name, value in pages.client.cookies.items())
    host = pages.base.removeprefix("http://")
    request = f"GET /doctor HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\n{header}\r\n{header}\r\n\r\n"
    assert int(raw(pages, request.encode()).split()[1]) == status


def test_a_page_of_no_named_place_changes_nothing(pages: Pages) -> None:
    """What a browser says of where a request comes from is taken only where it says: from here, or from nowhere."""
    for site, status in (("same-origin", 400), ("same-site", 403), ("cross-site", 403), ("none", 403), ("new", 403)):
        answer = pages.client.post("/quick/start", data={"kind": "x"}, headers={"sec-fetch-site": site})
        assert answer.status_code == status, site
    for site, status in (("none", 200), ("same-origin", 200), ("new", 403)):
        headers = {"sec-fetch-site": site, "sec-fetch-mode": "no-cors"}
        assert pages.client.get("/doctor", headers=headers).status_code == status, site


def test_a_token_leads_to_no_other_host(pages: Pages) -> None:
    port = urlsplit(pages.base).port
    for path in ("//evil.example/", "/\\evil.example/", "///evil.example"):
        request = f"GET {path}?open={pages.token} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n"
        answer = raw(pages, request.encode())
        location = [line for line in answer.split(b"\r\n") if line.lower().startswith(b"location:")]
        assert [line.split(b": ")[1] for line in location] == [b"/"], answer


def test_the_token_in_a_referer_opens_nothing_and_no_other_site_gets_one(pages: Pages) -> None:
    with stranger(pages, referer=pages.entry) as client:
        assert client.get("/").status_code == 403
    assert pages.client.get("/").headers["referrer-policy"] == "same-origin"


def test_the_token_does_not_open_by_another_way_than_the_address(pages: Pages) -> None:
    with stranger(pages, origin=pages.base) as client:
        assert client.post("/", params={"open": pages.token}).status_code == 403
        assert client.post("/", data={"open": pages.token}).status_code == 403
        assert client.get("/", headers={"authorization": f"Bearer {pages.token}"}).status_code == 403


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "127.0.0.1.evil.example:{port}",
             "localhost:{port}@evil.example", "", "[::ffff:7f00:1]:{port}", "2130706433:{port}"],
)  # fmt: skip
def test_a_name_that_is_not_the_servers_is_refused(pages: Pages, host: str) -> None:
    """DNS rebinding: a stranger's name that leads here, with a cookie or the token itself."""
    sent = host.format(port=urlsplit(pages.base).port)
    for address in ("/", f"/?open={pages.token}"):
        answer = pages.client.get(address, headers={"host": sent})
        assert (answer.status_code, "set-cookie" in answer.headers) == (403, False) if sent else (403, False)


def test_a_name_given_twice_is_refused(pages: Pages) -> None:
    port = urlsplit(pages.base).port
    answer = raw(pages, f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nHost: evil.example\r\n\r\n".encode())
    assert answer.startswith((b"HTTP/1.1 400", b"HTTP/1.1 403"))


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://127.0.0.1:1", "http://localhost:{port}", ""]
)
def test_another_sites_page_changes_nothing(pages: Pages, origin: str) -> None:
    sent = origin.format(port=urlsplit(pages.base).port)
    for method in ("POST", "PUT", "DELETE"):
        assert pages.client.request(method, "/doctor", headers={"origin": sent}).status_code == 403
    assert pages.client.get("/", headers={"origin": sent}).status_code == 403


def test_a_request_that_says_not_from_where_changes_nothing(pages: Pages) -> None:
    with httpx.Client(base_url=pages.base, cookies=pages.client.cookies) as client:
        assert client.get("/").status_code == 200
        assert client.post("/doctor").status_code == 403
        for site in ("cross-site", "same-site", "none"):
            assert client.post("/doctor", headers={"sec-fetch-site": site}).status_code == 403
        assert client.get("/", headers={"sec-fetch-site": "same-site", "sec-fetch-mode": "cors"}).status_code == 403


@pytest.mark.parametrize(
    "path", ["/static/../access.py", "/static/%2e%2e/access.py", "/static/..%2faccess.py", "/static/..%5caccess.py",
             "/static//etc/passwd", "/static/%00", "/static/manifest.json", "/static/LICENSE.htmx",
             "/../../etc/passwd"],
)  # fmt: skip
def test_no_path_leads_to_a_file(pages: Pages, path: str) -> None:
    port = urlsplit(pages.base).port
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    cookie = "; ".join(f"{one.name}={one.value}" for one in pages.client.cookies.jar)
    connection.request("GET", path, headers={"cookie": cookie, "host": f"127.0.0.1:{port}"})
    answer = connection.getresponse()
    assert answer.status == 404
    assert b"root:" not in answer.read()
    connection.close()


def test_every_answer_says_what_its_page_may_do(pages: Pages) -> None:
    for path in ("/", "/nowhere", "/static/loadstone.css"):
        headers = pages.client.get(path).headers
        policy = headers["content-security-policy"]
        assert "unsafe" not in policy
        assert policy.startswith("default-src 'none'; script-src 'nonce-")
        assert headers["x-content-type-options"] == "nosniff"
        assert "server" not in headers
    assert pages.client.get("/").headers["cache-control"] == "no-store"
    first, second = (pages.client.get("/").headers["content-security-policy"] for _ in range(2))
    assert first != second


def test_a_form_of_10_mb_is_refused_and_the_page_lives(pages: Pages) -> None:
    assert pages.client.post("/doctor", content=b"x" * (10 * BODY_BYTES_MAX)).status_code == 413
    assert pages.client.get("/").status_code == 200


def test_a_long_address_is_refused(pages: Pages) -> None:
    assert pages.client.get("/?" + "a" * 20_000).status_code == 414


def test_a_server_on_all_addresses_knows_addresses_and_its_own_names() -> None:
    may = may_host(["box"], 80, any_address=True)
    assert [may(host) for host in ("box:80", "192.0.2.1:80", "[2001:db8::1]:80", "192.0.2.1")] == [True] * 4
    assert [may(host) for host in ("evil.example:80", "192.0.2.1:81", "box.evil:80", "bo x:80", "box:80:80")] == [
        False
    ] * 5
