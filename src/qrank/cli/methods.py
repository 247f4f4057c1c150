"""``qrank methods``: what there is to choose from."""

from __future__ import annotations

import json as json_text

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ..methods import METHODS
from . import options
from .words import guarded


@guarded
def methods(json: options.Json = False) -> None:
    """List the methods, what each is, and its options with their defaults.

    Example: qrank methods
    """
    if json:
        described = {name: {"about": kind.about, "options": kind.options()} for name, kind in METHODS.items()}
        typer.echo(json_text.dumps(described, indent=2, default=repr))
        return
    table = Table("method", "what it is", "options", show_lines=True)
    for name, kind in METHODS.items():
        defaults = ", ".join(f"{option}={value}" for option, value in kind.options().items())
        table.add_row(f"[bold]{name}[/bold]", escape(kind.about), escape(defaults))
    console = Console()
    console.print(table)
    console.print("Give an option with --option name=value; --preset paper sets those of the paper.", highlight=False)
