"""What a kind of array must be able to do: the few coarse operations that priors, fits and methods are written on."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from ..errors import InputError, KindError


class Kernels:
    """One kind of array: its operations. A new kind defines them and registers itself (`kernels.register`).

    Stacks have shape (n3, n1, n2). ``out`` is memory for the result, which a kind may leave unused; whoever calls takes what
    is returned. ``work`` is the run's `Workspace`. Sizes, residuals and whatever is small come back as Python numbers.

    From the user's array to the problem, and back:

    - known(array, observed): boolean, True where an entry is known
    - values(array): its numbers in the floating type to compute in
    - scaled(values, known, layout): y (slices last, 0 where missing), the mask alike, the exponent of the scale
    - glimpse(array, known): a part of both in memory, as NumPy arrays, to guess from what kind of data they are
    - patched(cut, array, fill): the array cut into patches (`qrank.patches`)
    - fibre_counts(mask): for each axis how many fibres have 0, 1, … known entries, NumPy arrays
    - free_memory(): the bytes that can still be taken where its arrays are, None: unknown
    - blind(mask, fibres): boolean, of the mask's shape: True where of one of the fibres, given as axes of the stack, nothing is known
    - count(mask): how many are True
    - kept(a, folder), revived(said, folder, y): an array of a state written for a checkpoint, and read again for a run on y
    - digest(a): what `checkpoint.fingerprint` takes for the array
    - unscaled(x, layout, exponent): x in the unit and the axes of the array
    - typed(x, array): x with the floating type of the array
    - keep(x, array, known): x, with the array's own values where they are known
    - like(x, array): x as an array of the user's kind: masked, labelled, …
    - outer(x, layout): an array, slices last, in the axes of the user's, contiguous
    - padded(x, shape, value): x at the beginning of a larger array of a value
    - flatnonzero(mask): the flat positions at which it is True, a NumPy array
    - brought(m), host(t): a NumPy array as one of this kind, and back; not for what is as large as the data

    Of a stack:

    - empty(shape, dtype): for the workspace
    - eps(t): the precision of its floating type
    - copy(t, out=None)
    - norm(t): ||T||_F
    - product(m, t, out=None): T x_3 M^T, m (k, n3)
    - fourier(t, out=None, inverse=False): unitary, in n3 real slices
    - cosine(t, out=None, inverse=False): orthonormal
    - shrink(g, lam, penalty, multiplicity=None, energies=None): `Shrunk`; g may be overwritten
    - spectral_norm(g, multiplicity=None): the largest singular value of its slices
    - advance(t, x, y, observed, ratio, last=None, relax=0.0, more=0.0): `Residuals`, with the next T, which may be made in the memory of x
    - zeros(t, shape, work): an array of zeros like t, in the spare memory, to which arrangements are added
    - arranged(x, view, offsets, work): the stack that a view makes of an array (`arrange.View`), in scratch
    - add_arranged(total, stack, view, offsets, weight): the array, in place or anew, with the stack added, weighted
    - sampled(stack, view, offsets, shape, at): entries of the array, from the stack, a NumPy array
    - smoothness(y, mask): for each axis from 0 to about 1, a NumPy array
    - smooth_fill(y, mask): y, its missing entries filled from those nearby
    - spread(y, mask): the standard deviation of what is known, not 0
    - single(t), cast(t, y): t in single precision, or as it is where the kind stays in one; t in y's
    - known_entries(t, mask): those that the paper's stopping rule follows, as a list of arrays (``last``)
    - put_known(t, mask, entries): t with such entries
    - rms(t): the root mean square of entries
    - summed(work, *arrays): the sums of the numbers that work returns for matching pieces, which it may overwrite; here one piece

    Of its mode-3 unfolding:

    - short_side(t, lam, r, work): rows, s, sure: the singular vectors above lam of the shorter side
    - under_left(rows, s, t, work): T x_3 Q = U diag(s), a stack, for Q = T_(3)^T U / s known by rows = U^T
    - from_left(g, rows, s, t, work): G x_3 Q^T for that Q
    - principal(t, r, out=None, work=None): V = PCA(T, 3, r), and the singular values
    - learned(t, r, spare, work): V for the result, made in the memory of ``spare``; None where that would be too much
    - under_principal(t, r): T x_3 V
    - matmul(a, b, out=None)
    - slope(turn, b, prox, v=None): B (turn^T B - prox)^T, B = b or v^T b
    - eye(n, r, t): the first r columns of the identity, in the type of t
    - cayley(q, half): (I + H)^{-1} (I - H) Q

    ``xp`` has the functions of single entries (`sqrt`, `where`, …) and of small matrices under NumPy's names.
    """

    numpy = False  # whether arrays are NumPy's, as methods need them that are not written on these operations
    methods: tuple[str, ...] | None = (
        None  # those that can run on this kind; None: all that are written on these operations
    )
    among: tuple[str, ...] | None = None  # the methods that `auto` tries for this kind, on a part in memory; None: all
    only: ClassVar[dict[str, dict[str, Any]]] = {}  # options that a method must have on this kind
    assignable = False  # whether arrays have NumPy's sums and parts that can be assigned to
    reuses = True  # the memory of arrays that are not needed any more serves again (`Workspace.lend`)

    def free_memory(self) -> int | None:
        """Return that it is not known: then no run is refused before it starts."""
        return None

    def zeros(self, t: Any, shape: tuple[int, ...], work: Any) -> Any:
        """Return an array of zeros in the spare memory."""
        found = work.array("spare", shape, t.dtype)
        found[...] = 0
        return found

    def brought(self, m: Any) -> Any:
        """Return a NumPy array as one of this kind: as it is, where `product` and the like take it so."""
        return m

    def single(self, t: Any) -> Any:
        """Return t as it is: a run then stays in the precision of its data."""
        return t

    def blind(self, mask: Any, fibres: Any) -> Any:
        """Return where nothing is known along one of the given axes."""
        found = mask & ~mask
        for axes in fibres:
            found = found | ~mask.any(axis=axes, keepdims=True)
        return found

    def summed(self, work: Any, *arrays: Any) -> list[float]:
        """Return what work makes of whole arrays: a pass in pieces pays where memory is slower than the work."""
        return list(work(*arrays))

    def count(self, mask: Any) -> int:
        """Return how many entries of a mask are True."""
        return int(mask.sum())

    def digest(self, a: Any) -> Any:
        """Return the array itself."""
        return a

    def glimpse(self, array: Any, known: Any) -> tuple[Any, Any]:
        """Return all of it: it is in memory."""
        return array, known

    def patched(self, cut: Any, array: Any, fill: Any) -> Any:
        """Return the array cut into patches."""
        return cut.split(array, fill)

    def learned(self, t: Any, r: int, spare: Any, work: Any) -> Any:
        """Return V = PCA(T, 3, r) for the result, in the memory of ``spare`` where it is as large."""
        return self.principal(t, r, spare, work)[0]

    def kept(self, a: Any, folder: Path) -> Any:
        """Write an array of a state into a new place in a folder, for good; return what `revived` needs, as JSON has it."""
        raise InputError(f"a state that holds a {type(a).__qualname__} cannot be written: only arrays and numbers can")

    def __getattr__(self, operation: str) -> Any:
        if operation.startswith("_"):
            raise AttributeError(operation)
        raise KindError(
            f"arrays of this kind cannot be completed by this method: {type(self).__name__} has no {operation}"
        )
