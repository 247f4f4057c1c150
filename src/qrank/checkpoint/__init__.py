"""Runs that survive: what a run needs to go on, in a file, so that one that was killed gives the answer of one that was not."""

from .journal import Checkpoint, Journal
from .signals import Stopping

__all__ = ["Checkpoint", "Journal", "Stopping"]
