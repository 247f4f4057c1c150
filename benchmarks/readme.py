"""Copy the measured tables from the pages in docs/ into the README: ``python -m benchmarks.readme``.

Between ``<!-- from PAGE -->`` and ``<!-- end -->`` the README shows the tables of that page, each with the bold sentence that
says what it is; nothing there is typed by hand.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

README = Path("README.md")
MARKED = re.compile(r"(<!-- from (\S+?)(?: \| ([^>]*?))? -->\n).*?(<!-- end -->)", re.DOTALL)


def tables(page: str) -> dict[str, str]:
    """Return the tables of a page by the bold words that open the paragraph before each.

    >>> tables("**A.** One draw.\\n\\n| a |\\n|---|\\n| 1 |\\n\\nmore")
    {'A': '**A.** One draw.\\n\\n| a |\\n|---|\\n| 1 |'}
    """
    found = re.findall(r"(^\*\*(.+?)\.\*\*[^\n]*\n\n(?:\|[^\n]*\n?)+)", page + "\n", re.MULTILINE)
    return {title: text.rstrip("\n") for text, title in found}


def filled(readme: str, read=lambda name: Path(name).read_text(encoding="utf-8")) -> str:
    """Return the README with the tables of today; a mark may name the first words of those that it wants."""

    def put(match: re.Match[str]) -> str:
        mark, name, wanted, end = match.groups()
        there = tables(read(name))
        starts = [w.strip() for w in wanted.split(";")] if wanted else [""]
        chosen = [text for start in starts for title, text in there.items() if title.startswith(start)]
        return mark + "\n\n".join(chosen) + "\n" + end

    return MARKED.sub(put, readme)


def main() -> None:
    """Rewrite the README."""
    before = README.read_text(encoding="utf-8")
    after = filled(before)
    README.write_text(after, encoding="utf-8")
    sys.stdout.write("README.md is " + ("as it was\n" if before == after else "rewritten\n"))


if __name__ == "__main__":
    main()
