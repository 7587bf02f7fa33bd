"""The built site in a browser: no error, no sideways scrolling, legible, and searched with success.

It needs a site (``build/site``, or the folder that SRCAD_SITE names), Playwright and an installed
Chromium; pip brings no browser.  Screenshots go to ``build/screens``, or the folder that
SRCAD_SCREENS names.
"""

import functools
import http.server
import os
import re
import shutil
import threading
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
SITE = Path(os.environ.get("SRCAD_SITE", ROOT / "build" / "site"))
SCREENS = Path(os.environ.get("SRCAD_SCREENS", ROOT / "build" / "screens"))
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
BROWSER = next(filter(None, map(shutil.which, NAMES)), None)
PAGES = {
    "home": "index.html",
    "tutorial": "fit.html",
    "grad": "api/srcad.grad.html",
    "gallery": "gallery/index.html",
    "example": "gallery/growing_automaton.html",
}
# The page that answers a search.
SEARCHES = {
    "hvp": "api/srcad.hvp.html",
    "curve_fit": "jacobians.html",
    "GPU": "faq.html",
    "SRCAD-201": "errors.html#",
}
WIDTH_OF_PHONE = 390
# The contrast of text that WCAG 2 asks for at level AA.
LEAST_CONTRAST = 4.5

sync_api = pytest.importorskip("playwright.sync_api", reason="needs: pip install '.[browser]'")
pytestmark = [
    pytest.mark.skipif(BROWSER is None, reason="needs an installed Chromium"),
    pytest.mark.skipif(not (SITE / "index.html").exists(), reason="needs a site: .ci/run docs"),
]


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A handler that writes no line per request."""

    def log_message(self, *args):
        pass


@pytest.fixture(scope="module")
def address():
    """Serve the site on the loopback interface."""
    handler = functools.partial(Quiet, directory=str(SITE))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def browser():
    """Start a browser without a window."""
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def open_page(browser, address):
    """Return a function that opens a page, and notes requests to other hosts and errors."""
    contexts = []

    def open_one(path, **how):
        contexts.append(browser.new_context(**how))
        page = contexts[-1].new_page()
        page.faults = []
        page.on("console", lambda m: m.type == "error" and page.faults.append(m.text))
        page.on("response", lambda r: r.ok or page.faults.append(f"{r.status} {r.url}"))
        page.on("pageerror", lambda error: page.faults.append(str(error)))
        page.on("request", lambda r: r.url.startswith((address, "data:", "blob:"))
                or page.faults.append(r.url))  # fmt: skip
        page.goto(f"{address}/{path}", wait_until="load")
        return page

    yield open_one
    for context in contexts:
        context.close()


def photograph(page, name):
    """Write a screenshot of what is visible."""
    SCREENS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENS / f"{name}.png")


@pytest.mark.parametrize("name", PAGES)
def test_page_loads_without_an_error(name, open_page):
    page = open_page(PAGES[name], viewport={"width": 1280, "height": 900})

    photograph(page, f"{name}-light")

    assert page.faults == []


@pytest.mark.parametrize("word", SEARCHES)
def test_search_has_the_page_among_the_first_three_results(word, open_page):
    page = open_page(f"search.html?q={word}", viewport={"width": 1280, "height": 900})
    page.wait_for_selector("#search-results ul.search li a")
    page.wait_for_function(
        "() => /finished|found/i.test(document.querySelector('#search-results').innerText)"
    )
    links = page.eval_on_selector_all(
        "#search-results ul.search > li > a:first-of-type", "all => all.map(a => a.href)"
    )

    photograph(page, f"search-{word}")

    first = [re.sub(r"\?[^#]*", "", link.split("/", 3)[3]) for link in links[:3]]
    assert any(link.startswith(SEARCHES[word]) for link in first), first
    assert page.faults == []


def every_page():
    """Return the addresses of all pages that are no redirects."""
    pages = [page.relative_to(SITE) for page in sorted(SITE.rglob("*.html"))]
    return [page.as_posix() for page in pages
            if page.parent.suffix != ".md" and "_static" not in page.parts]  # fmt: skip


# The widest thing that reaches out of the page, if the page scrolls sideways.
OVERFLOW = """() => {
    const wide = document.documentElement.scrollWidth;
    if (wide <= window.innerWidth) return [];
    const all = [...document.querySelectorAll('main *, footer *, header *')];
    const out = all.filter(e => e.getBoundingClientRect().right > window.innerWidth + 1);
    return [wide, ...out.slice(0, 5).map(e => e.outerHTML.slice(0, 120))];
}"""


def test_no_page_scrolls_sideways_on_a_phone(open_page, address):
    page = open_page("index.html", viewport={"width": WIDTH_OF_PHONE, "height": 844})
    wide = {}
    for path in every_page():
        page.goto(f"{address}/{path}", wait_until="load")
        found = page.evaluate(OVERFLOW)
        if found:
            wide[path] = found

    assert wide == {}


@pytest.mark.parametrize("name", PAGES)
def test_page_on_a_phone_is_photographed(name, open_page):
    page = open_page(PAGES[name], viewport={"width": WIDTH_OF_PHONE, "height": 844})

    photograph(page, f"{name}-phone")

    assert page.faults == []


# The lowest contrast of a text with its background, as WCAG 2 defines it.
CONTRAST = """() => {
    const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
    const rgba = text => {
        canvas.clearRect(0, 0, 1, 1);
        canvas.fillStyle = text;
        canvas.fillRect(0, 0, 1, 1);
        const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
        return [r, g, b, a / 255];
    };
    const over = (top, below) =>
        top.slice(0, 3).map((c, k) => c * top[3] + below[k] * (1 - top[3]));
    const linear = c => c <= 10.31 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4;
    const bright = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
    const ground = e => {
        if (!e) return [255, 255, 255];
        const own = rgba(getComputedStyle(e).backgroundColor);
        return own[3] === 1 ? own.slice(0, 3) : over(own, ground(e.parentElement));
    };
    const found = [];
    const walk = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) {
        const node = walk.currentNode, e = node.parentElement;
        const seen = e.checkVisibility({visibilityProperty: true, opacityProperty: true});
        if (!node.data.trim() || !seen) continue;
        const below = ground(e), text = over(rgba(getComputedStyle(e).color), below);
        const [high, low] = [bright(text), bright(below)].sort((a, b) => b - a);
        found.push([(high + 0.05) / (low + 0.05), node.data.trim().slice(0, 40), e.className]);
    }
    return found.sort((a, b) => a[0] - b[0]).slice(0, 5);
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_text_is_legible(name, scheme, open_page):
    page = open_page(PAGES[name], viewport={"width": 1280, "height": 900}, color_scheme=scheme)

    photograph(page, f"{name}-{scheme}")

    ground = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
    faint = [one for one in page.evaluate(CONTRAST) if one[0] < LEAST_CONTRAST]
    assert sum(map(int, ground[4:-1].split(","))) < 150 or scheme == "light", ground
    assert faint == []
