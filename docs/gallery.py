"""Runs the examples of the gallery, draws what they return, and writes docs/gallery.md: ``python docs/gallery.py``."""

from __future__ import annotations

import ast
import contextlib
import io
import runpy
import sys
import warnings
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

DOCS = Path(__file__).parent
EXAMPLES = sorted((DOCS.parent / "examples" / "gallery").glob("*.py"))


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


def page(folder: Path = DOCS, only: list[str] | None = None) -> str:
    """Run every example and return the page."""
    lines = [
        "# Gallery",
        "",
        "Every picture and every figure on this page was made by running the code below it (`python docs/gallery.py`).",
    ]
    for path in EXAMPLES:
        if only and path.stem not in only:
            continue
        source = path.read_text(encoding="utf-8")
        title, _, about = (ast.get_docstring(ast.parse(source)) or path.stem).partition("\n")
        said = io.StringIO()
        with contextlib.redirect_stdout(said), warnings.catch_warnings(action="ignore"):
            panels = runpy.run_path(str(path))["main"]()
        drawn(panels, folder / "gallery" / f"{path.stem}.png")
        code = source.split('"""', 2)[2].strip().removesuffix('\n\nif __name__ == "__main__":\n    main()').strip()
        lines += [
            "",
            f"## {title.rstrip('.')}",
            "",
            about.strip(),
            "",
            f"![{title}](gallery/{path.stem}.png)",
            "",
            "```text",
            said.getvalue().strip(),
            "```",
            "",
        ]
        lines += ["```python", code, "```"]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    (DOCS / "gallery").mkdir(exist_ok=True)
    (DOCS / "gallery.md").write_text(page(only=sys.argv[1:]), encoding="utf-8")
