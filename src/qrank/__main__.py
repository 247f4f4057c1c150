"""The command line: ``python -m qrank``, and what the console script runs."""

from __future__ import annotations

import signal
import sys
from contextlib import suppress


def main() -> None:
    """Run the command line; without its packages say in one line how to get them, and so for Ctrl-C while they are imported."""
    with suppress(ValueError):  # not in the main thread
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # stops as Ctrl-C does
    try:
        try:
            import rich  # noqa: F401  (asked for here, so that the answer is one line and not a traceback)
            import typer  # noqa: F401
        except ImportError:
            print("qrank: the command line needs two more packages: pip install 'qrank[cli]'", file=sys.stderr)
            raise SystemExit(2) from None
        from .cli.app import app
    except KeyboardInterrupt:
        print("qrank: aborted; nothing was written", file=sys.stderr)
        raise SystemExit(130) from None
    app(prog_name="qrank")


if __name__ == "__main__":
    main()
