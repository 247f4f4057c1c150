"""What a shell may offer after Tab: names of methods, presets, efforts, patterns, and options of the method on the line."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import typer

from ..data.patterns import PATTERNS
from ..methods import METHODS, Auto, method_named
from ..methods.auto import EFFORTS
from ..penalties import PENALTIES

Offer = tuple[str, str]  # a word and what it is
OF_AUTO = {"fast": "try nothing", "balanced": "try what may win", "best": "try more, and longer"}


def starting(words: Iterable[Offer], incomplete: str) -> list[Offer]:
    """Return the words that begin so.

    >>> starting([("tnn", "a"), ("vmtqn", "b")], "t")
    [('tnn', 'a')]
    """
    return [(word, about) for word, about in words if word.startswith(incomplete)]


def methods(incomplete: str) -> list[Offer]:
    """Offer the methods.

    >>> [name for name, _ in methods("vm")]
    ['vmtqn']
    """
    return starting(((name, kind.about) for name, kind in METHODS.items()), incomplete)


def listed_methods(incomplete: str) -> list[Offer]:
    """Offer the methods in a list that is parted by commas, those before the last as they are.

    >>> [names for names, _ in listed_methods("tnn,vm")]
    ['tnn,vmtqn']
    """
    before, comma, last = incomplete.rpartition(",")
    taken = before.split(",")
    return [(before + comma + name, about) for name, about in methods(last) if name not in taken]


def efforts(incomplete: str) -> list[Offer]:
    """Offer the efforts of `auto`.

    >>> [name for name, _ in efforts("b")]
    ['balanced', 'best']
    """
    return starting(((name, OF_AUTO[name]) for name in EFFORTS), incomplete)


def patterns(incomplete: str) -> list[str]:
    """Offer the patterns of what is hidden.

    >>> patterns("s")
    ['station-days', 'stripes', 'scratches']
    """
    return [name for name in (*PATTERNS, "mask:") if name.startswith(incomplete)]


def presets(ctx: typer.Context, incomplete: str) -> list[str]:
    """Offer the presets of the method on the line, or of all."""
    names = dict.fromkeys(name for kind in _meant(ctx) for name in kind.presets)
    return [name for name in names if name.startswith(incomplete)]


def options(ctx: typer.Context, incomplete: str) -> list[str]:
    """Offer ``name=`` for the options of the method on the line, and the values of those that have names."""
    name, equals, text = incomplete.partition("=")
    kinds = _meant(ctx)
    there = dict.fromkeys(option for kind in kinds for option in kind.options())
    if not equals:
        return [f"{option}=" for option in there if option.startswith(name.replace("-", "_"))]
    known = _values(name.replace("-", "_"), kinds)
    return [f"{name}={value}" for value in known if value.startswith(text)]


def _values(option: str, kinds: Iterable[Any]) -> list[str]:
    named = {"penalty": list(PENALTIES), "effort": list(EFFORTS)}
    defaults = [kind.options()[option] for kind in kinds if option in kind.options()]
    if option in named:
        return named[option] if defaults else []
    return ["true", "false"] if any(isinstance(default, bool) for default in defaults) else []


def _meant(ctx: typer.Context) -> list[Any]:
    """Return the methods that the line names so far; `auto`, or all where the command takes several, if it names none."""
    words = ctx.params.get("methods") or ctx.params.get("method") or ""
    try:
        return [method_named(word) for word in words.split(",") if word] or [Auto]
    except ValueError:  # half a name
        return list(METHODS.values())
