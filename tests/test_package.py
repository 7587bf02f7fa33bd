"""What is built and shown: metadata, the README, its pictures, and files for a package."""

import importlib.util
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import srcad

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
README = (ROOT / "README.md").read_text()
SCREEN = "\n".join(README.splitlines()[:40])


def module(path):
    """Return a module that belongs to no package."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


hatch_build = module(ROOT / "hatch_build.py")
pictures = module(ROOT / "docs" / "pictures.py")


# ------------------------------------------------------------------------------------ the README
def test_first_screen_has_installation_pictures_and_links():
    assert "pip install ." in SCREEN
    for picture in ("docs/gradient.svg", "docs/speed.svg"):
        assert f"]({picture})" in SCREEN
    for page in ("quickstart", "faq", "features", "api", "errors", "comparison", "index"):
        assert f"](docs/{page}.md)" in SCREEN
    assert len(re.findall(r"^\* \*\*", SCREEN, re.MULTILINE)) == 5


def test_links_of_the_readme_are_files():
    links = [found[2] for found in hatch_build.LINK.finditer(README)]

    assert len(links) > 12
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_pictures_are_those_of_the_program_and_of_the_table():
    docs = ROOT / "docs"

    assert (docs / "gradient.svg").read_text() == pictures.picture_of_gradient(README)
    assert (docs / "speed.svg").read_text() == pictures.picture_of_speed(
        (docs / "benchmarks.md").read_text()
    )
    assert (docs / "fitted.svg").read_text() == pictures.picture_of_fit(
        (docs / "differential_equations.md").read_text()
    )


def test_means_of_speed_are_over_rows_with_all_systems():
    page = """<!-- results -->

2026-01-02, one thread, wall time.
A processor, 2 cores.
Python 3.13.0, srcad 0.1.0, numpy 2.0.0, scipy 1.15.0, numba 0.61.0, jax 0.5.0.

### Problems

| function | size | hand [us] | opt | srcad | srcad+numba | autograd | jax.jit | torch |
| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
| a | n=1 | 10 | 0.5 | 1.0 | 0.1 | 2 | 0.5 | 3 |
| a | n=2 | 10 | 0.5 | 4.0 | 0.4 | 8 | 2 | 12 |
| b | n=1 | 10 | 0.5 | 100 | 100 | - | 100 | 100 |
| geometric mean (sizes) |  |  | 0.5 (3) | 7 (3) | 7 (3) | 4 (2) | 7 (3) | 7 (3) |

"""

    means, count, machine = pictures.means_of_problems(page)

    assert means == pytest.approx(
        {"srcad+numba": 0.2, "jax.jit": 1.0, "srcad": 2.0, "torch": 6.0, "autograd": 4.0}
    )
    assert count == "2 sizes of 1 problems"
    assert machine.splitlines() == [
        "2026-01-02, A processor, 2 cores.",
        "srcad 0.1.0, numpy 2.0.0, numba 0.61.0, jax 0.5.0",
    ]


def test_programs_of_the_readme_are_run_with_the_installed_package_only(tmp_path):
    (tmp_path / "srcad.py").write_text("")
    done = subprocess.run([sys.executable, ROOT / "tests" / "readme.py", ROOT / "README.md"],
                          env={"PYTHONPATH": str(tmp_path)}, check=False, text=True,
                          capture_output=True)  # fmt: skip

    assert done.returncode == 1
    assert done.stdout.startswith(f"srcad is imported from {tmp_path}")


# ---------------------------------------------------------------------------------- the addresses
@pytest.mark.parametrize(
    ("repository", "site", "link", "expected"),
    [
        ("", "", "[a](docs/api.md)", "[a](docs/api.md)"),
        ("https://r", "", "[a](docs/api.md#x)", "[a](https://r/blob/main/docs/api.md#x)"),
        ("", "https://s", "[a](docs/design/ir.md)", "[a](https://s/design/ir.html)"),
        ("", "https://s", "[a](examples)", "[a](examples)"),
        ("https://r", "https://s", "[a](examples)", "[a](https://r/blob/main/examples)"),
        ("https://r", "https://s", "![a](docs/a.svg)", "![a](https://r/raw/main/docs/a.svg)"),
        ("https://r", "https://s", "[a](https://t/docs/b.md)", "[a](https://t/docs/b.md)"),
        ("https://r", "https://s", "[a](#heading)", "[a](#heading)"),
        ("https://r", "https://s", "params[\"W1\"](x)", "params[\"W1\"](x)"),
    ],
)  # fmt: skip
def test_links_are_made_from_the_addresses(repository, site, link, expected):
    assert hatch_build.with_addresses(link, repository, site) == expected


def test_build_says_that_an_address_is_empty(capsys):
    found = hatch_build.addresses({"repository": "https://r/", "site": ""})

    assert found == ("https://r", "")
    assert capsys.readouterr().err.splitlines() == [hatch_build.NOTICE.format("site")]


def test_addresses_have_one_place():
    custom = PROJECT["tool"]["hatch"]["metadata"]["hooks"]["custom"]

    assert set(custom) == {"repository", "site"}
    assert {"version", "readme", "urls"} <= set(PROJECT["project"]["dynamic"])


# ------------------------------------------------------------------------------------- the package
def test_licence_is_an_expression():
    project = PROJECT["project"]

    assert project["license"] == "MIT"
    assert not any("License" in one for one in project["classifiers"])
    assert "hatchling>=1.27" in PROJECT["build-system"]["requires"]


def test_sdist_has_all_that_its_tests_need():
    included = PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]

    needed = {"/conftest.py", "/hatch_build.py", "/.ci", "/.github", "/.pre-commit-config.yaml",
              "/tests", "/examples", "/docs", "/CITATION.cff", "/LICENSE", "/*.md"}  # fmt: skip
    assert needed <= set(included)
    assert all((ROOT / one[1:]).exists() for one in included if "*" not in one)


def test_version_has_one_place_and_citations_agree():
    assert PROJECT["tool"]["hatch"]["version"]["path"] == "srcad/__init__.py"
    assert f"version: {srcad.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"version = {{{srcad.__version__}}}," in (ROOT / "docs" / "cite.md").read_text()
    assert f"\n## {srcad.__version__} (" in (ROOT / "docs" / "changelog.md").read_text()


def test_versions_of_the_support_page_are_those_of_the_package():
    page = (ROOT / "docs" / "support.md").read_text()
    prefix = "Programming Language :: Python :: 3."
    minors = [c.removeprefix(prefix) for c in PROJECT["project"]["classifiers"] if prefix in c]

    assert f"| Python | {', '.join(f'3.{m}' for m in minors)};" in page
    assert PROJECT["project"]["requires-python"] == f">=3.{minors[0]}"
    (numpy,) = [d for d in PROJECT["project"]["dependencies"] if d.startswith("numpy")]
    assert f"| NumPy | {numpy.removeprefix('numpy>=')} and later" in page


def test_workflows_only_call_the_gate():
    files = sorted((ROOT / ".github" / "workflows").glob("*.yml"))

    assert files
    for file in files:
        assert {run.split()[0] for run in re.findall(r"run: (.+)", file.read_text())} == {".ci/run"}


def test_form_of_a_bug_asks_for_program_call_expected_and_info():
    form = (ROOT / ".github" / "ISSUE_TEMPLATE" / "bug.yml").read_text()

    assert re.findall(r"^    id: (\w+)$", form, re.MULTILINE) == [
        "program", "call", "expected", "info"
    ]  # fmt: skip
    assert "python -m srcad info" in form


def test_release_stops_without_a_version():
    done = subprocess.run([ROOT / ".ci" / "release", "next"], check=False, text=True,
                          capture_output=True)  # fmt: skip

    assert done.returncode == 1
    assert "usage: .ci/release 0.2.0" in done.stderr
