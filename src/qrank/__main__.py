"""The console script: ``qrank``, or ``python -m qrank``."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; without its packages say in one line how to get them."""
    try:
        import rich  # noqa: F401  (asked for here, so that the answer is one line and not a traceback)
        import typer  # noqa: F401
    except ImportError:
        print("qrank: the command line needs two more packages: pip install 'qrank[cli]'", file=sys.stderr)
        raise SystemExit(2) from None
    from .cli.app import app

    app(prog_name="qrank")


if __name__ == "__main__":
    main()
