"""Metadata for a package index: links of the README that are relative in the repository.

``pyproject.toml`` has the addresses of the repository and of the site in one table,
``[tool.hatch.metadata.hooks.custom]``; while they are empty links stay relative, and the build
prints so.  `docs/conf.py` reads the same table.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

LINK = re.compile(r"(!?\[[^\]\"]*\]\()([^)#:]+)(#[^)]*)?\)")
NOTICE = "srcad: no address of a {} in pyproject.toml; the links to it in the README stay relative"


def with_addresses(text: str, repository: str, site: str) -> str:
    """Return a README in which the links to files are addresses.

    Parameters
    ----------
    text : str
        The README, with links relative to the root of the repository.
    repository, site : str
        Addresses without a slash at the end. Pages of `docs/` are links to the site, pictures and
        other files links to the repository; a link without an address stays relative.

    Returns
    -------
    str
        The README for a package index.

    Examples
    --------
    >>> with_addresses("[names](docs/api.md#control)", "https://a.example/srcad", "https://b.example")
    '[names](https://b.example/api.html#control)'
    >>> with_addresses("![bars](docs/speed.svg)", "https://a.example/srcad", "")
    '![bars](https://a.example/srcad/raw/main/docs/speed.svg)'
    """

    def address(found: re.Match[str]) -> str:
        before, path, heading = found[1], found[2], found[3] or ""
        if site and re.fullmatch(r"docs/.*\.md", path):
            path = f"{site}/{path[len('docs/') : -len('.md')]}.html"
        elif repository:
            path = f"{repository}/{'raw' if before.startswith('!') else 'blob'}/main/{path}"
        return f"{before}{path}{heading})"

    return LINK.sub(address, text)


def addresses(config: dict[str, Any]) -> tuple[str, str]:
    """Return the addresses of repository and site, and print which of them is empty."""
    repository, site = (config.get(key, "").rstrip("/") for key in ("repository", "site"))
    for name, value in (("repository", repository), ("site", site)):
        if not value:
            print(NOTICE.format(name), file=sys.stderr)
    return repository, site


try:
    from hatchling.metadata.plugin.interface import MetadataHookInterface
except ImportError:  # the tests of this module need no hatchling
    MetadataHookInterface = object


class AddressesHook(MetadataHookInterface):  # type: ignore[misc]
    """Sets the fields ``readme`` and ``urls`` of the metadata."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the fields."""
        repository, site = addresses(self.config)
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": with_addresses(text, repository, site),
        }
        urls = {"Documentation": site, "Repository": repository}
        metadata["urls"] = {name: value for name, value in urls.items() if value}
