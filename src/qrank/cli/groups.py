"""Options that belong together are declared once, as a dataclass, and taken by every command that has it as a parameter."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import fields, make_dataclass  # noqa: F401  the latter for the example
from typing import Any, get_type_hints


def grouped(command: Callable[..., Any]) -> Callable[..., Any]:
    """Let a command take each field of its parameters that are groups of options (dataclasses) as an option of its own.

    >>> Size = make_dataclass("Size", [("height", int, 3), ("width", int, 4)])
    >>> def command(name, size):
    ...     return name, size.width
    >>> command.__annotations__ = {"name": str, "size": Size}
    >>> list(inspect.signature(grouped(command)).parameters), grouped(command)("a", width=7)
    (['name', 'height', 'width'], ('a', 7))
    """
    own, hints = inspect.signature(command), get_type_hints(command, include_extras=True)
    groups = {name: hints[name] for name in own.parameters if hasattr(hints[name], "__dataclass_fields__")}
    parameters = []
    for name, parameter in own.parameters.items():
        if name not in groups:
            parameters.append(parameter.replace(annotation=hints[name]))
            continue
        for one, hint in get_type_hints(groups[name], include_extras=True).items():
            default = next(field.default for field in fields(groups[name]) if field.name == one)
            parameters.append(inspect.Parameter(one, parameter.kind, default=default, annotation=hint))

    @functools.wraps(command)
    def run(*args: Any, **given: Any) -> Any:
        for name, group in groups.items():
            given[name] = group(**{one.name: given.pop(one.name) for one in fields(group) if one.name in given})
        return command(*args, **given)

    run.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in parameters} | {"return": hints.get("return")}
    return run
