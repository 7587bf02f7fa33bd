"""Pictures of the gallery: a PNG file of each open figure, a GIF file of each animation.

The scraper of sphinx-gallery embeds animations in a page that loads styles from another host, or
needs ffmpeg. Here Pillow writes them. Imports are inside the function, so that pytest can collect
this module without Sphinx.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any


def scrape_figures(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Save and close all figures; a figure with an attribute ``animation`` becomes a GIF file."""
    import matplotlib.pyplot as plt
    from matplotlib.animation import PillowWriter
    from sphinx_gallery.scrapers import figure_rst

    written = []
    for number, file in zip(plt.get_fignums(), block_vars["image_path_iterator"], strict=False):
        figure = plt.figure(number)
        animation = getattr(figure, "animation", None)
        path = Path(file).with_suffix(".png" if animation is None else ".gif")
        if animation is None:
            figure.savefig(path)
        else:
            animation.save(path, writer=PillowWriter(fps=8), dpi=72)
        written.append(path)
    plt.close("all")
    return figure_rst(written, gallery_conf["src_dir"])
