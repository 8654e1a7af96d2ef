"""What pages are made of: libraries as they were published, and nothing from elsewhere."""

import hashlib
import json
import re

from loadstone.addons.pages import page
from loadstone.addons.pages.page import FOLDER

HERE = page.resources.files("loadstone.addons.pages")
MANIFEST = json.loads((HERE / FOLDER / "manifest.json").read_text())


def test_every_library_is_as_published_and_has_its_licence() -> None:
    for name, one in MANIFEST.items():
        assert hashlib.sha256(page.files()[name]).hexdigest() == one["sha256"], name
        assert (HERE / FOLDER / one["licence_file"]).read_text().strip(), name
        assert set(one) == {"package", "version", "licence", "licence_file", "file", "sha256"}


def test_every_minified_file_is_in_the_manifest() -> None:
    assert {name for name in page.files() if ".min." in name} == set(MANIFEST)


def test_no_page_asks_for_anything_from_elsewhere_or_has_a_script_in_it() -> None:
    for name in page.templates().list_templates():
        text = (HERE / "templates" / name).read_text()
        assert re.findall(r"""(?:src|href|action)=["']?(?:https?:)?//""", text) == [], name
        assert re.findall(r"<script(?![^>]*\ssrc=)|<script(?![^>]*nonce=)|\son[a-z]+=|\sstyle=|<style", text) == [], (
            name
        )
    for name, content in page.files().items():
        if name not in MANIFEST and name.endswith((".css", ".js")):
            assert (
                re.findall(rb"""(?:url\(|import |fetch\()\s*["']?(?:https?:)?//|eval\(|innerHTML""", content) == []
            ), name
