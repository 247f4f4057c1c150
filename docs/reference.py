"""Writes docs/methods.md, every method with every option, from the source itself: ``python docs/reference.py``."""

from __future__ import annotations

import dataclasses
import inspect
import re
from pathlib import Path

from qrank.methods import METHODS

OPTION = re.compile(r"^    (\w+): [^=#]+(?: = .+?)?  # (.+)$")


def comments(kind: type) -> dict[str, str]:
    """Return what the source says of each option, the nearest class first."""
    found: dict[str, str] = {}
    for base in kind.__mro__[::-1]:
        if dataclasses.is_dataclass(base):
            for line in inspect.getsource(base).splitlines():
                if match := OPTION.match(line):
                    found[match[1]] = match[2]
    return found


def page() -> str:
    """Return the page."""
    lines = [
        "# Methods and their options",
        "",
        "Made from the source by `python docs/reference.py`. Options are given by name: `qrank.complete(y, method='vmtqn', rho=1.1)`,"
        " `qrank fill … --method vmtqn --option rho=1.1`. In the source a `None` that stands for a value taken from the data says so.",
    ]
    for name, kind in METHODS.items():
        told, options = comments(kind), kind.options()
        lines += [
            "",
            f"## {name}",
            "",
            f"{kind.about[0].upper()}{kind.about[1:]}.",
            "",
            "| option | default | what it is |",
            "|---|---|---|",
        ]
        for option, default in options.items():
            about = told[option].replace("|", "or")
            lines.append(f"| `{option}` | `{default!r}` | {about} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    Path(__file__).with_name("methods.md").write_text(page(), encoding="utf-8")
