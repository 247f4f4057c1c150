"""From what is to be shown to one HTML file: templates that escape everything, no network, written whole."""

from __future__ import annotations

import base64
import hashlib
import os
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from ..atomic import saving
from ..errors import need

HOME = resources.files("qrank.report") / "templates"


@cache
def _environment() -> Any:
    jinja2 = need("jinja2", "report", "a report")
    loader = jinja2.FunctionLoader(_asset)
    environment = jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    script = _asset("page.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    trusted = need("markupsafe", "report", "a report").Markup
    environment.globals |= {
        "style": trusted(_asset("page.css")),
        "script": trusted(script),
        # The page's own script is the only one that may run, and nothing may be fetched.
        "policy": f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{digest}'",
    }
    environment.filters["trusted"] = trusted
    return environment


def _asset(name: str) -> str:
    return (HOME / name).read_text(encoding="utf-8").replace("\r\n", "\n")


def render(template: str, **content: Any) -> str:
    """Return a template filled with content, all of it escaped but what the template itself marks as trusted."""
    return _environment().get_template(template).render(content)


def write(path: str | os.PathLike[str], template: str, **content: Any) -> None:
    """Write a filled template beside its place, then move it there: the old page or the whole new one, never half of it."""
    html = render(template, **content)
    with saving(Path(path)) as beside:
        beside.write_text(html, encoding="utf-8", newline="\n")
