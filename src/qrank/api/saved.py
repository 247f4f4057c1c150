"""Completions in files: one ``.npz`` without pickled content, the arrays by their names and all else as JSON beside them."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..atomic import saving
from ..errors import FileError, InputError
from ..files.arrays import by_python, read_all
from ..files.guard import reading
from ..methods import METHODS, Method
from ..penalties import PENALTIES, Penalty
from ..result import PAGES, Choice, Completion, Plan, Record, Status, Trial
from ..transforms import Cosine, Fourier, Identity, Matrix, Transform
from .units import Units

FORMAT = 1
BY_LENGTH = {kind.__name__: kind for kind in (Cosine, Fourier, Identity)}  # transforms that their length is all of
OPTIONAL = ("error", "undetermined", "outliers", "ignored")  # arrays that a completion may have
Arrays = dict[str, np.ndarray]


def save(result: Completion, path: str | os.PathLike[str]) -> None:
    """Write a completion to a file that ``load`` reads; see ``qrank.Completion.save``."""
    arrays: Arrays = {"x": _plain(result.x), "observed": _plain(result.observed)}
    for name in OPTIONAL:
        if getattr(result, name) is not None:
            arrays[name] = _plain(getattr(result, name))
    about = {
        "format": FORMAT,
        "status": result.status.name,
        "slice_axes": list(result.slice_axes),
        "history": [list(asdict(record).values()) for record in result.history],
        "method": _packed(result.method, "method", arrays),
        "transform": _packed(result.transform, "q", arrays),
        "choice": _choice_packed(result.choice, arrays),
        "noise": _packed(result.noise, "noise", arrays),
        "axes": None if result.axes is None else list(map(str, result.axes)),
        "labels": {str(axis): list(map(str, names)) for axis, names in result.labels.items()},
    }
    if result.units is not None:
        arrays["units.mean"], arrays["units.spread"] = result.units.mean, result.units.spread
    about["arrays"] = sorted(arrays)  # the directory of a zip has no checksum: what it hides is found missing
    arrays["about"] = np.frombuffer(json.dumps(about).encode(), np.uint8)
    with saving(Path(path)) as temporary, temporary.open("wb") as file:  # by a path NumPy would add a suffix
        np.savez(by_python(file), **dict[str, Any](arrays))  # all of them numbers: nothing is pickled


def load(path: str | os.PathLike[str]) -> Completion | Matrix:
    """Read what ``qrank.Completion.save`` wrote, or a transform that ``result.transform.save`` wrote.

    >>> import tempfile
    >>> from qrank import complete
    >>> file = Path(tempfile.mkdtemp()) / "run.npz"
    >>> result = complete(np.outer(np.arange(1.0, 6), np.ones(5)), np.eye(5) < 1, method="tnn")
    >>> result.save(file)
    >>> bool((load(file).x == result.x).all()), load(file).method.name
    (True, 'tnn')
    """
    path = Path(path)
    with reading(path, "npz"):
        arrays = read_all(path)
    try:
        if list(arrays) == ["q"]:
            return Matrix(arrays["q"])
        about = json.loads(arrays["about"].tobytes())
        if about["format"] > FORMAT:
            raise FileError(f"{path} was saved by a newer version of qrank")
        if set(about["arrays"]) != set(arrays) - {"about"}:
            raise ValueError("arrays")
        x, observed = arrays["x"], arrays["observed"]
        if x.shape != observed.shape or observed.dtype != bool:
            raise ValueError("shapes")
        return Completion(
            x,
            Status[about["status"]],
            [_record(row) for row in about["history"]],
            _unpacked(about["method"], arrays),
            _unpacked(about["transform"], arrays),
            observed,
            (int(about["slice_axes"][0]), int(about["slice_axes"][1])),
            choice=_choice_unpacked(about["choice"], arrays),
            error=arrays.get("error"),
            undetermined=arrays.get("undetermined"),
            outliers=arrays.get("outliers"),
            ignored=arrays.get("ignored"),
            noise=about["noise"],
            units=Units(arrays["units.mean"], arrays["units.spread"]) if "units.mean" in arrays else None,
            axes=None if about["axes"] is None else tuple(about["axes"]),
            labels={int(axis): names for axis, names in about["labels"].items()},
        )
    except FileError:
        raise
    except (KeyError, ValueError, TypeError, IndexError, AttributeError, RecursionError) as error:
        raise FileError(f"{path} is damaged, or holds nothing that qrank has saved") from error


def _record(row: list[Any]) -> Record:
    values: dict[str, Any] = dict(zip((f.name for f in fields(Record)), row, strict=True))
    return Record(**{**values, "learning": tuple(values["learning"])})


def _plain(array: Any) -> np.ndarray:
    return np.ma.getdata(np.asanyarray(array))


def _packed(value: Any, name: str, arrays: Arrays) -> Any:
    """Return a value as JSON knows it; whatever is more than a number or a word is a dict that says what it is."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, tuple | list):
        return {"list": [_packed(one, f"{name}.{k}", arrays) for k, one in enumerate(value)]}
    if isinstance(value, Method) and METHODS.get(value.name) is type(value):
        options = {f.name: _packed(getattr(value, f.name), f"{name}.{f.name}", arrays) for f in fields(value) if f.init}
        return {"method": value.name, "options": options}
    if isinstance(value, Penalty) and PENALTIES.get(value.name) is type(value) and is_dataclass(value):
        return {"penalty": value.name, "options": asdict(value)}
    if isinstance(value, Transform):
        if type(value).__name__ in BY_LENGTH:
            return {"transform": type(value).__name__, "n3": value.n3}
        arrays[name] = value.matrix
        return {"matrix": name}
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiubc":
        arrays[name] = value
        return {"array": name}
    raise InputError(f"a {type(value).__qualname__} ({name}) cannot be saved: only what qrank itself defines can")


def _unpacked(value: Any, arrays: Arrays) -> Any:
    if not isinstance(value, dict):
        return value
    if "list" in value:
        return tuple(_unpacked(one, arrays) for one in value["list"])
    if "method" in value:
        return METHODS[value["method"]](**{name: _unpacked(one, arrays) for name, one in value["options"].items()})
    if "penalty" in value:
        kind: Any = PENALTIES[value["penalty"]]
        return kind(**value["options"])
    if "transform" in value:
        return BY_LENGTH[value["transform"]](int(value["n3"]))
    return Matrix(arrays[value["matrix"]]) if "matrix" in value else arrays[value["array"]]


def _choice_packed(choice: Choice | None, arrays: Arrays) -> Any:
    if choice is None:
        return None
    told = [choice.hidden, choice.tried_on, choice.seconds, choice.error, choice.cut]
    plan = None
    if choice.plan is not None:
        runs = [
            [name, _packed(method, f"run {k}", arrays), after]
            for k, (name, method, after) in enumerate(choice.plan.runs)
        ]
        plan = [runs, list(choice.plan.factors), choice.plan.judged, list(choice.plan.steps), choice.plan.total]
    return {"trials": [list(trial) for trial in choice.trials], "told": told, "plan": plan}


def _choice_unpacked(packed: Any, arrays: Arrays) -> Choice | None:
    if packed is None:
        return None
    plan = None
    if packed["plan"] is not None:
        runs, factors, judged, steps, total = packed["plan"]
        made = tuple((name, _unpacked(one, arrays), after) for name, one, after in runs)
        plan = Plan(made, tuple(factors), judged, tuple(steps), total)
    return Choice(tuple(Trial(*row) for row in packed["trials"]), *packed["told"], plan=plan)


PAGES["save"] = save
