"""Configuration of the site: ``sphinx-build -n -W --keep-going docs build/site``.

Pages are MyST Markdown, pages of the API come from docstrings, and the gallery from `examples/`.
Nothing is fetched from other hosts, unless ``SRCAD_DOCS_ONLINE=1`` asks for links to the documents
of Python, NumPy and SciPy.  This module imports nothing of Sphinx, so that pytest can collect it.
"""

from __future__ import annotations

import importlib.util
import os
import re
import sys
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
HAS_SCALE = all(importlib.util.find_spec(name) for name in ("distributed", "joblib", "zarr"))

sys.path.insert(0, str(ROOT / "docs"))

project = "srcad"
author = "The srcad authors"
project_copyright = "The srcad authors"
version = release = re.findall(
    r'^__version__ = "(.+)"$', (ROOT / "srcad" / "__init__.py").read_text(), re.MULTILINE
)[0]
language = "en"

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_nb",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
root_doc = "index"
exclude_patterns = ["**.ipynb", "**.py", "gallery/**.md5"]
templates_path = ["_templates"]
nitpicky = True

# ----------------------------------------------------------------------------------- pages
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4  # links to headings, as `language.md#loops`
nb_execution_mode = "auto"
nb_execution_raise_on_error = True
nb_ipywidgets_js: dict[str, dict[str, str]] = {}  # its default loads scripts from other hosts
copybutton_selector = "div.highlight-python pre, div.highlight-ipython3 pre"

# ------------------------------------------------------------------------------------- API
autosummary_generate = True
autodoc_typehints = "none"  # the docstrings have the types, without names of type variables
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_validation_checks: set[str] = set()
default_role = "autolink"  # `grad` in a docstring is a link, `wrt` is not
nitpick_ignore_regex = [
    (r"py:.*", r"(?!srcad\.).*"),  # names of Python, NumPy and SciPy
    ("py:obj", ".*"),  # words in backticks that are also names of modules: `row`
]

if os.environ.get("SRCAD_DOCS_ONLINE") == "1":
    extensions.append("sphinx.ext.intersphinx")
    intersphinx_mapping = {
        "python": ("https://docs.python.org/3", None),
        "numpy": ("https://numpy.org/doc/stable", None),
        "scipy": ("https://docs.scipy.org/doc/scipy", None),
    }

# --------------------------------------------------------------------------------- gallery
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    # Every example is run whose packages are there; the default runs those named plot_*.
    "filename_pattern": "/" if HAS_SCALE else "/(?!clicks_out_of_core|sweep_of_fits)[^/]*$",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "image_scrapers": ("scraper.scrape_figures",),  # `docs/scraper.py`
    "backreferences_dir": "api/examples",  # which examples use a name, for the pages of the API
    "doc_module": ("srcad",),
    "write_computation_times": False,
    "show_memory": False,
    "show_signature": False,
}

# ----------------------------------------------------------------------------------- theme
html_theme = "pydata_sphinx_theme"
html_title = "srcad"
html_show_sourcelink = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/favicon.svg"
html_context = {
    "default_mode": "auto"
}  # light or dark, as the reader's system; no entry is an error
html_copy_source = False
ADDRESSES = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["metadata"][
    "hooks"
]["custom"]
html_baseurl = ADDRESSES["site"]
html_theme_options: dict[str, Any] = {
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "header_links_before_dropdown": 8,
    "footer_start": ["copyright"],
    "footer_end": [],
}
if ADDRESSES["repository"]:
    html_theme_options["github_url"] = ADDRESSES["repository"]


# ------------------------------------------------------------------- what pages are read as
RECIPE = re.compile(r"\]\((\.\./\.\./tests/recipes/\w+\.md)\)")
FOLDER = re.compile(r"\[([^\]]+)\]\((?:\.\./)+tests/\w+\)")
SECTION_OF_CODE = re.compile(r"^## (SRCAD-\d+) .*$", re.MULTILINE)


def adapt_source(app: Any, page: str, text: list[str]) -> None:
    """Turn links to files outside of `docs/` into downloads, and index each error by its code.

    A search for ``SRCAD-201`` finds entries of the index, the main ones (``!``) before all others;
    a word of digits in a text is no word.
    """
    text[0] = FOLDER.sub(r"`\1`", RECIPE.sub(r"](path:\1)", text[0]))
    if page == "errors":
        text[0] = SECTION_OF_CODE.sub(r"```{index} ! \1\n```\n\n\g<0>", text[0])


def link_codes_to_sections(app: Any, doctree: Any) -> None:
    """Let an entry of the index lead to the section of an error.

    Its own target is empty, and a search stops where it has no text to show.
    """
    if app.env.docname != "errors":
        return
    sections = doctree.findall(lambda node: node.tagname == "section")
    codes = {section[0].astext().split()[0]: section["ids"][0] for section in sections}
    for node in doctree.findall(lambda node: node.tagname == "index"):
        node["entries"] = [
            (kind, code, codes[code], *rest) for kind, code, _, *rest in node["entries"]
        ]


def add_code(app: Any, kind: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Add the code of an error class to its docstring, with a link to the page of errors."""
    code = vars(obj).get("code") if kind == "exception" else None
    if code is not None:
        lines += ["", f"Its code is {code}; :doc:`/errors` has programs and remedies."]


PROGRAM = re.compile(r"^```(?:python|\{code-cell\} python)\n(.*?)^```", re.DOTALL | re.MULTILINE)
USE = re.compile(r"\b(?:srcad\.)?(rules|testing)\.(\w+)|\b(srcad)\.([A-Za-z]\w+)")
IMPORT = re.compile(r"^from (srcad[\w.]*) import (.+)$", re.MULTILINE)
MOST = 6  # pages that are named


def pages_with_programs() -> dict[str, list[str]]:
    """Return the pages with programs that use a public name, those with most uses first."""
    uses: dict[str, Counter[str]] = {}
    for page in sorted((ROOT / "docs").glob("*.md")):
        if page.stem == "errors":
            continue  # its programs fail
        for program in PROGRAM.findall(page.read_text()):
            names = [f"{module}.{name.split()[0]}" for module, imported in IMPORT.findall(program)
                     for name in imported.strip("()").split(",")]  # fmt: skip
            for module, name, _, own in USE.findall(program):
                names.append(f"srcad.{own}" if own else f"srcad.{module}.{name}")
            for name in names:
                uses.setdefault(name, Counter())[page.stem] += 1
    return {name: [page for page, _ in found.most_common()] for name, found in uses.items()}


PAGES_WITH_PROGRAMS = pages_with_programs()


def add_pages(app: Any, kind: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Add the pages with programs that use a public name to its docstring."""
    pages = PAGES_WITH_PROGRAMS.get(name, [])[:MOST]
    if pages:
        links = ", ".join(f":doc:`/{page}`" for page in pages)
        lines += ["", ".. rubric:: Pages with programs that use it", "", links, ""]


REDIRECT = """<!DOCTYPE html>
<meta charset="utf-8">
<title>{page}</title>
<link rel="canonical" href="{up}{page}.html">
<meta http-equiv="refresh" content="0; url={up}{page}.html">
<a href="{up}{page}.html">{page}</a>
"""


def write_redirects(app: Any, error: Exception | None) -> None:
    """Write ``page.md/index.html`` for each page of `docs/`: its address in the repository."""
    if error is not None or app.builder.format != "html":
        return
    for page in sorted(app.env.found_docs):
        if (Path(app.srcdir) / f"{page}.md").is_file():
            folder = Path(app.outdir) / f"{page}.md"
            folder.mkdir(parents=True, exist_ok=True)
            up = "../" * (page.count("/") + 1)
            (folder / "index.html").write_text(REDIRECT.format(page=page, up=up))


def setup(app: Any) -> dict[str, bool]:
    """Connect the functions above to the build."""
    app.connect("source-read", adapt_source)
    app.connect("doctree-read", link_codes_to_sections)
    app.connect("autodoc-process-docstring", add_code)
    app.connect("autodoc-process-docstring", add_pages)
    app.connect("build-finished", write_redirects)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
