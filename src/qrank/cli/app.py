"""The command's frame: its sub-commands, its version, and what its exit codes mean."""

from __future__ import annotations

from typing import Annotated

import typer

from ..version import __version__
from .compare import compare
from .demo import demo
from .denoise import denoise
from .fill import fill
from .inspect import inspect
from .methods import methods
from .reproduce import reproduce

HELP = """Fill what is missing in images, videos and any multi-way data.

Example: qrank fill scratched.png --mask scratches.png -o whole.png --report page.html

Try it without data of your own: qrank demo
"""
EPILOG = (
    "Exit codes: 0 done · 1 the run failed (diverged, or no memory) · 2 input or options cannot be used, nothing was"
    " written · 3 stopped by Ctrl-C, what there is was written · 4 the output was written, but not all"
    " that was asked for (the report, the errors) · 130 aborted, nothing was written. SIGTERM does what Ctrl-C does."
)

app = typer.Typer(
    name="qrank",
    help=HELP,
    epilog=EPILOG,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_show_locals=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"qrank {__version__}")
        raise typer.Exit()


@app.callback()
def _frame(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


for command in (fill, denoise, compare, inspect, reproduce, methods, demo):
    app.command(epilog=EPILOG if command in (fill, denoise, compare) else None)(command)
