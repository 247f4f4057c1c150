"""The console script ``qrank``: outside of the package, so that Ctrl-C while that is imported gets its one line, too."""

from __future__ import annotations

import sys


def main() -> None:
    """Import the package and run its command line."""
    try:
        from qrank.__main__ import main as run
    except KeyboardInterrupt:
        print("qrank: aborted; nothing was written", file=sys.stderr)
        raise SystemExit(130) from None
    run()
