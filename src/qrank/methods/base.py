"""What a method is: frozen options, an initial state, and one step."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .. import kernels
from ..errors import InputError, KindError, nearest
from ..fit import Exact
from ..kernels.memory import Workspace
from ..problem import Problem
from ..result import Step
from ..tensor import Layout
from ..transforms import Transform
from .needs import Needs

AUTO = "auto"  # of noise: its level is estimated before the run


@dataclass(frozen=True, kw_only=True, eq=False)
class Method:
    """Options that every method has. ``step`` is pure but for one thing: it may reuse the arrays of the state it is given.

    A method defines ``init``, ``step`` and ``answer``, and has a name and a line that says what it is. Its state is arrays
    and numbers in tuples and lists; ``work``, scratch memory and random numbers, belongs to the loop.
    """

    name: ClassVar[str]
    about: ClassVar[str]
    shares_out: ClassVar[bool] = False  # its kernels use threads.py throughout: BLAS needs no threads of its own

    single: ClassVar[float] = math.inf  # entries from which on the loop may take its steps in single precision
    after: ClassVar[str | None] = None  # the method whose answer it starts from, as `problem.start`

    resumes: ClassVar[bool] = False  # it can go on from an earlier answer, `problem.start`, in a few steps

    revision: ClassVar[int] = 0  # raised by hand when its answers change but no option does: kept cells are run again

    numpy_only: ClassVar[bool] = (
        True  # it is written on NumPy, not on the operations of `kernels`, which other arrays have, too
    )

    nearby: ClassVar[bool] = False  # where the model says nothing, its answer still comes from the known entries nearby

    fit: ClassVar[Any] = Exact()  # how the answer agrees with what is known
    measures: ClassVar[bool] = False  # what is known may be measured through any linear operator, not only a mask
    presets: ClassVar[dict[str, dict[str, Any]]] = {"default": {}}

    tol: float = 1e-5  # what the relative residuals must come down to
    max_steps: int = 500  # of a run, at most

    def __post_init__(self) -> None:
        for name in self.options():
            if isinstance(
                value := getattr(self, name), np.floating | np.integer
            ):  # mu in half precision would end at 65504
                object.__setattr__(self, name, float(value) if isinstance(value, np.floating) else int(value))
        self.check("tol", above=0)
        self.check("max_steps", above=0, whole=True)

    def check(self, *names: str, **limits: Any) -> None:
        """Raise one clear sentence if an option is not a number in its range, nor None where that is its default."""
        for name in names:
            if not (getattr(self, name) is None and self.options()[name] is None):
                check_number(name, getattr(self, name), **limits)

    def tolerance(self, eps: float) -> float:
        """Return what the residuals must come down to on data of this precision: ``tol`` itself."""
        return self.tol

    def dual_tolerance(self, tolerance: float) -> float:
        """Return what the dual residual must be within for the answer to be called converged, and not settled: 10 tol.

        It ends no run. Of convex problems, answers were then within 5e-4 of the optimum, with a tol of 1e-5.
        """
        return 10 * tolerance

    def needs(self, layout: Layout, dtype: np.dtype, p: float) -> Needs:
        """Return what a run takes of an array of this layout and type, of which a share p is known: before it starts."""
        return Needs(
            math.prod(layout.shape) * np.dtype(dtype).itemsize, math.nan, self.max_steps
        )  # the answer at least

    def init(self, problem: Problem, work: Workspace) -> Any:
        """Return the state before the first step."""
        raise AssertionError(f"{self.name} defines no initial state")

    def step(self, problem: Problem, state: Any, work: Workspace) -> tuple[Any, Step]:
        """Return the next state, and what is to be told of the step."""
        raise AssertionError(f"{self.name} defines no step")

    def answer(self, problem: Problem, state: Any, work: Workspace) -> Any:
        """Return X, of the size of the problem's y; the next step may overwrite it."""
        raise AssertionError(f"{self.name} defines no answer")

    def learned(self, problem: Problem, state: Any, work: Workspace) -> Transform | None:
        """Return the transform that the run ended with, for methods that have one; no step comes after it."""
        return None

    @property
    def noise_level(self) -> float | None:
        """The standard deviation that what is known is taken to have, in the data's unit; None: it is exact; NaN: to be estimated."""
        noise = getattr(self, "noise", None)
        return None if noise is None else math.nan if isinstance(noise, str) else float(noise)

    def outliers_of(self, problem: Problem, state: Any) -> Any:
        """Return what was taken out of the known values as wrong, a stack, or None where none of it is."""
        return None

    def deviation(self, problem: Problem, state: Any, work: Workspace) -> Any:
        """Return the standard deviation that the method's model gives to each entry of X, or None where it has none."""
        return None

    def doubt(self, problem: Problem, state: Any, work: Workspace) -> Any:
        """Return a sign of how far each entry may be off, of y's shape and in no unit, or None: the model's own deviation."""
        return self.deviation(problem, state, work)

    def as_found(self, problem: Problem, state: Any) -> Method:
        """Return the method with what a run has chosen, if it chooses: for a run of all that is known, after one without hidden entries."""
        return self

    def undetermined(self, problem: Problem) -> Any:
        """Return the missing entries of which the model says nothing, boolean, of y's shape.

        A low rank along each axis says nothing of a slice, or of a row or column of all slices, of which nothing is known:
        zeros are as low in rank as anything. Nor does it tell of what no chain of known entries leads to (`kernels.linked`).
        """
        linked = (
            (0, 1, 2) if len(problem.layout.rest) < 2 else (0,)
        )  # axes that are one only in the stack have ranks of their own
        return blind(problem, (1, 2), (0, 2), (0, 1), linked=linked)

    def resumed(self, steps: int | None = None) -> Method:
        """Return the method as it goes on from an earlier answer that is nearly right, in so many steps: itself."""
        return self

    @classmethod
    def options(cls) -> dict[str, Any]:
        """Return the names of the options and their defaults."""
        return {f.name: f.default for f in dataclasses.fields(cls) if f.init}

    @classmethod
    def configured(cls, preset: str | None = None, **options: Any) -> Method:
        """Return the method with a preset and options; a misspelt option is an error that names the nearest right one."""
        known = cls.options()
        for option in options:
            if option not in known:
                raise InputError(f"method '{cls.name}' has no option '{option}'{nearest(option, known)}")
        return cls(**{**cls.preset(preset), **options})

    @classmethod
    def preset(cls, preset: str | None) -> dict[str, Any]:
        """Return the options that a preset sets, of those that the method has."""
        if (preset or "default") not in list(cls.presets):  # what cannot be hashed is no preset either
            there = f"there {'are' if len(cls.presets) > 1 else 'is'}: {', '.join(cls.presets)}"
            raise InputError(f"method '{cls.name}' has no preset '{preset}'; {there}")
        return {name: value for name, value in cls.presets[preset or "default"].items() if name in cls.options()}

    def __str__(self) -> str:
        def short(value: Any) -> str:
            return f"array{value.shape}" if isinstance(value, np.ndarray) else repr(value)

        shown = (f.name for f in dataclasses.fields(self) if f.repr or getattr(self, f.name) is not None)
        given = (f"{name}={short(getattr(self, name))}" for name in shown)
        return f"{self.name}({', '.join(given)})"


def blind(problem: Problem, *fibres: tuple[int, ...], linked: tuple[int, ...] = ()) -> Any:
    """Return the entries of which nothing is known along one of the given axes of the stack, boolean, of y's shape.

    ``linked``: and those of which the other two places are linked by no chain of entries that are known somewhere along the axis.

    >>> blind(Problem.of(np.ones((2, 2)), np.array([[True, True], [False, False]])), (2,))
    array([[False, False],
           [ True,  True]])
    """
    return kernels.of(problem.observed).blind(problem.mask, fibres, linked).reshape(problem.observed.shape)


def check_number(
    name: str, value: Any, above: float | None = None, at_least: float | None = None, whole: bool = False
) -> None:
    """Raise one clear sentence if an option is not a number in its range.

    >>> check_number("rho", 1.1, above=1)
    """
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise KindError(f"{name} must be a number, not {value!r}")
    if not np.isfinite(value) or (whole and int(value) != value):
        raise InputError(f"{name} must be a {'whole' if whole else 'finite'} number, not {value!r}")
    if above is not None and not value > above:
        raise InputError(f"{name} must be above {above}, not {value!r}")
    if at_least is not None and not value >= at_least:
        raise InputError(f"{name} must be at least {at_least}, not {value!r}")
