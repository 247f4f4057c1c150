"""What goes wrong, in one sentence each: what is wrong, where, and what to do."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable
from types import ModuleType


class InputError(ValueError):
    """The input cannot be used as it is; the message says why and what to do."""


class KindError(TypeError):
    """The input is of a kind that cannot be used; the message says which kinds can."""


class FileError(InputError):
    """A file cannot be read or written; the message names it."""


class TooLarge(InputError, MemoryError):
    """A run would take more memory than is free; the message has the numbers and says what to do."""


class MissingExtra(ImportError):
    """An optional package is needed; the message is the command that installs it."""


class ConvergenceWarning(UserWarning):
    """The run ended before its stopping rule was met."""


class UndeterminedWarning(UserWarning):
    """Entries were filled of which the model says nothing; the message says how many, and from what."""


class NoiseWarning(UserWarning):
    """The noise that was given is larger than the data vary: it may be in another unit."""


class CheckpointWarning(UserWarning):
    """A checkpoint could not be written; the run goes on, and the last one that could is still there."""


def nearest(word: str, choices: Iterable[str]) -> str:
    """Return ``": did you mean 'vmtqn'?"``, or the list of all choices if none is near.

    >>> nearest("vmtqm", ["vmtqn", "tnn"])
    ": did you mean 'vmtqn'?"
    """
    choices = list(choices)
    near = difflib.get_close_matches(word, choices, n=1)
    return f": did you mean '{near[0]}'?" if near else "; there are: " + ", ".join(choices)


def need(package: str, extra: str, purpose: str) -> ModuleType:
    """Import an optional package, or say in one line how to get it.

    >>> need("json", "files", "reading JSON").__name__
    'json'
    """
    try:
        return importlib.import_module(package)
    except ImportError as error:
        name = package.split(".")[0]
        raise MissingExtra(f"{purpose} needs the package {name}: pip install 'qrank[{extra}]'") from error
