"""Each link between pages of the built site leads to a page, a file or a heading that exists.

It needs a site: ``build/site``, or the folder that SRCAD_SITE names.
"""

import functools
import html.parser
import os
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
SITE = Path(os.environ.get("SRCAD_SITE", ROOT / "build" / "site"))


class Reader(html.parser.HTMLParser):
    """The addresses that a page has, and the places in it that have a name."""

    def __init__(self):
        super().__init__()
        self.addresses, self.names = set(), {""}

    def handle_starttag(self, tag, attrs):
        for key, value in attrs:
            if key in ("href", "src") and value:
                self.addresses.add(value)
            if key in ("id", "name") and value:
                self.names.add(value)


@functools.cache
def read(page):
    """Return addresses and names of a page."""
    reader = Reader()
    reader.feed(page.read_text())
    return reader


def target(page, address):
    """Return the file of an address and the name in it, or None for another host."""
    parts = urlsplit(address)
    if parts.scheme or parts.netloc:
        return None
    file = page.parent / unquote(parts.path) if parts.path else page
    return (file / "index.html" if file.is_dir() else file), unquote(parts.fragment)


@pytest.mark.skipif(not (SITE / "index.html").exists(), reason="needs a site: .ci/run docs")
def test_no_link_inside_of_the_site_is_broken():
    pages = [page for page in sorted(SITE.rglob("*.html")) if "_static" not in page.parts]
    links = [(page, address) for page in pages for address in read(page).addresses]
    broken = set()
    for page, address in links:
        found = target(page, address)
        if found is None:
            continue
        file, name = found
        if not file.exists() or (file.suffix == ".html" and name not in read(file).names):
            broken.add((page.relative_to(SITE).as_posix(), address))

    assert len(links) > 1_000
    assert broken == set()
