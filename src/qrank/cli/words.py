"""From words on the command line to values, and from errors to one line and an exit code."""

from __future__ import annotations

import functools
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, ParamSpec, TypeVar

import typer
from rich.console import Console

from ..errors import FileError, InputError, KindError, MissingExtra, nearest

FAILED, UNUSABLE, STOPPED, INCOMPLETE, ABORTED = 1, 2, 3, 4, 130

P = ParamSpec("P")
R = TypeVar("R")


def guarded(command: Callable[P, R]) -> Callable[P, R]:
    """Make every error that a user can cause one line on stderr and an exit code."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            with terminable():
                return command(*args, **kwargs)
        except (InputError, KindError, MissingExtra) as error:
            raise leave(str(error), UNUSABLE) from error
        except BrokenPipeError:
            hush()
            raise typer.Exit(FAILED) from None
        except OSError as error:
            where = f" ({error.filename})" if error.filename else ""
            raise leave(f"{error.strerror or error}{where}", UNUSABLE) from error
        except MemoryError as error:
            raise leave(
                "memory ran out: take a part (--frames), a smaller size (--resize) or --dtype float32", FAILED
            ) from error
        except KeyboardInterrupt as error:
            raise leave("aborted; nothing was written", ABORTED) from error

    return run


def hush() -> None:
    """Send what is still to be said nowhere: whoever read it has gone."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def terminable() -> Iterator[None]:
    """Let SIGTERM do what Ctrl-C does: what is half written is cleared away, and the exit code is true.

    >>> with terminable():
    ...     pass
    """
    try:
        before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    except ValueError:  # not in the main thread: signals are somebody else's
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def leave(message: str, code: int) -> typer.Exit:
    """Say one line on stderr; return the exit to raise.

    >>> leave("no", 2).exit_code
    2
    """
    typer.echo("qrank: " + " ".join(message.split()), err=True)
    return typer.Exit(code)


def stopped(done: int, what: str) -> typer.Exit:
    """Say how much of a run that can be taken up again is kept; return the exit to raise."""
    return leave(f"stopped; {done} finished {what} are kept: the same command goes on from there", ABORTED)


def screen(quiet: bool = False) -> Console:
    """Return where lines are printed, as they are: names of files may look like markup."""
    return Console(quiet=quiet, highlight=False, soft_wrap=True, markup=False)


def parse_options(words: Sequence[str] | None) -> dict[str, Any]:
    """Read ``name=value`` words: numbers, true, false and none become such, all else is text.

    >>> parse_options(["tol=1e-4", "r=20", "absolute=true", "penalty=nuclear"])
    {'tol': 0.0001, 'r': 20, 'absolute': True, 'penalty': 'nuclear'}
    """
    found: dict[str, Any] = {}
    for word in words or ():
        name, equals, text = word.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or not name:
            raise InputError(f"option '{word}' is not of the form name=value, such as max_steps=200")
        if name in found:
            raise InputError(f"option '{name}' is given twice")
        found[name] = _value(text.strip())
    return found


def _value(text: str) -> Any:
    named = {"true": True, "false": False, "none": None}
    if text.lower() in named:
        return named[text.lower()]
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return text


def parse_slice_axes(text: str | None, axes: Sequence[str], default: tuple[int, int]) -> tuple[int, int]:
    """Read ``--slice-axes`` as numbers or names of axes.

    >>> parse_slice_axes("lat,lon", ("time", "lat", "lon"), (0, 1)), parse_slice_axes("0,-1", ("a", "b", "c"), (0, 1))
    ((1, 2), (0, 2))
    """
    if text is None:
        return default
    words = [word.strip() for word in text.split(",")]
    if len(words) != 2:
        raise InputError(f"--slice-axes '{text}' is not two axes, such as 0,1 or {','.join(axes[:2])}")
    first, second = (_axis(word, axes) for word in words)
    if first == second:
        raise InputError(f"--slice-axes '{text}' names the same axis twice")
    return first, second


def _axis(word: str, axes: Sequence[str]) -> int:
    if word in axes:
        return list(axes).index(word)
    try:
        axis = int(word)
    except ValueError:
        raise InputError(f"there is no axis '{word}'{nearest(word, axes)}") from None
    if not -len(axes) <= axis < len(axes):
        raise InputError(f"there is no axis {axis}: the data have the axes 0 to {len(axes) - 1} ({', '.join(axes)})")
    return axis % len(axes)


def parse_list(text: str, kind: Callable[[str], Any], option: str) -> list[Any]:
    """Read words parted by commas.

    >>> parse_list("0.1, 0.5", float, "--rates")
    [0.1, 0.5]
    """
    try:
        values = [kind(word.strip()) for word in text.split(",") if word.strip()]
    except ValueError:
        raise InputError(f"{option} '{text}' is not a list of numbers, such as 0.1,0.3,0.5") from None
    if not values:
        raise InputError(f"{option} is empty")
    return values


def check_place(path: os.PathLike[str] | None, what: str, suffixes: Sequence[str] = ()) -> None:
    """Refuse a file that could not be written, before time is spent.

    >>> check_place(None, "the report")
    """
    if path is None:
        return
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder):
        raise FileError(f"{what} {path} cannot be written: there is no folder {folder}")
    if os.path.isdir(path):
        raise FileError(f"{what} {path} cannot be written: it is a folder")
    if not os.access(folder, os.W_OK) or (os.path.exists(path) and not os.access(path, os.W_OK)):
        raise FileError(f"{what} {path} cannot be written: permission denied")
    if suffixes and os.path.splitext(path)[1].lower() not in suffixes:
        raise FileError(f"{what} {path} must end in {' or '.join(suffixes)}")


def sizes(shape: Sequence[int], axes: Sequence[str]) -> str:
    """Return a shape with the names of its axes.

    >>> sizes((48, 240, 432), ("frame", "height", "width"))
    '48 frame x 240 height x 432 width'
    """
    return " x ".join(f"{n} {name}" for n, name in zip(shape, axes, strict=True))
