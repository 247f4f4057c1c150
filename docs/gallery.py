"""Runs the examples of the gallery, draws what they return, and writes docs/gallery.md: ``python docs/gallery.py``.

With names, ``python docs/gallery.py noise``, only these are run, and all others stay as they are on the page.
"""

from __future__ import annotations

import ast
import contextlib
import io
import re
import runpy
import sys
import warnings
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

DOCS = Path(__file__).parent
PAGE = DOCS / "gallery.md"
HEAD = """# Gallery

Every picture and every figure on this page was made by running the code below it (`python docs/gallery.py`)."""
FIRST = (
    "scratched_film",
    "cloud_gaps",
    "sensor_table",
    "hyperspectral_cube",
    "sparse_microscopy",
    "photographs",
)  # what most come for
EXAMPLES = sorted(
    (DOCS.parent / "examples" / "gallery").glob("*.py"),
    key=lambda path: (FIRST.index(path.stem) if path.stem in FIRST else len(FIRST), path.stem),
)


def drawn(panels: dict[str, np.ndarray], path: Path) -> None:
    """Draw pictures side by side, grey ones on one scale of their own kind."""
    figure, axes = plt.subplots(1, len(panels), figsize=(2.6 * len(panels), 2.4), dpi=90, squeeze=False)
    for ax, (title, picture) in zip(axes[0], panels.items(), strict=True):
        if picture.ndim == 3:
            ax.imshow(np.clip(picture, 0, 1))
        elif picture.ndim == 2:
            ax.imshow(
                picture,
                cmap="magma" if "error" in title else "gray",
                aspect="auto" if picture.shape[1] > 4 * picture.shape[0] else "equal",
            )
        else:
            ax.plot(picture)
        ax.set_title(title, fontsize=9)
        if picture.ndim > 1:
            ax.set_axis_off()
    figure.tight_layout()
    figure.savefig(path, metadata={"Software": ""})
    plt.close(figure)


def section(path: Path, folder: Path) -> str:
    """Run an example, draw what it returns, and return its section of the page."""
    source = path.read_text(encoding="utf-8")
    title, _, about = (ast.get_docstring(ast.parse(source)) or path.stem).partition("\n")
    said = io.StringIO()
    with contextlib.redirect_stdout(said), warnings.catch_warnings(action="ignore"):
        panels = runpy.run_path(str(path))["main"]()
    drawn(panels, folder / f"{path.stem}.png")
    code = source.split('"""', 2)[2].strip().removesuffix('\n\nif __name__ == "__main__":\n    main()').strip()
    picture, printed = f"![{title}](gallery/{path.stem}.png)", f"```text\n{said.getvalue().strip()}\n```"
    return "\n\n".join([f"## {title.rstrip('.')}", about.strip(), picture, printed, f"```python\n{code}\n```"])


def page(before: str, only: list[str], folder: Path = DOCS / "gallery") -> str:
    """Return the page, from the one before where an example is not to be run."""
    kept = {name: text for text in before.split("\n\n## ")[1:] for name in re.findall(r"\(gallery/(\w+)\.png\)", text)}
    parts = [HEAD]
    for path in EXAMPLES:
        run = not only or path.stem in only or path.stem not in kept
        parts.append(section(path, folder) if run else "## " + kept[path.stem].rstrip("\n"))
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    (DOCS / "gallery").mkdir(exist_ok=True)
    there = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    PAGE.write_text(page(there, sys.argv[1:]), encoding="utf-8")
