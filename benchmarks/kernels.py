"""Where the time goes: every product, decomposition and FFT of a module timed from outside.

``@`` cannot be replaced in NumPy from outside, so the modules under study are compiled, on import, with each ``@`` and each
call of something that is named like a kernel routed through here; what other calls cost is not changed by it. Their source
is not touched. Import this before them and call :func:`watch`.
"""

from __future__ import annotations

import ast
import builtins
import importlib.abc
import importlib.machinery
import importlib.util
import math
import sys
import threading
import time
from collections import defaultdict
from typing import Any

import numpy as np

PRODUCT, DECOMPOSITION, FFT, VECTOR = "products", "decompositions", "FFT", "BLAS on vectors"
PASS = "element-wise"  # a function of the module itself: what it spends in kernels is entered there and not here
_KINDS = {
    "numpy": {"matmul": PRODUCT, "dot": PRODUCT, "tensordot": PRODUCT, "vdot": VECTOR},
    "numpy.linalg": dict.fromkeys(("svd", "eigh", "eigvalsh", "qr", "solve", "inv", "cholesky"), DECOMPOSITION),
    "scipy.linalg": dict.fromkeys(
        ("svd", "eigh", "eigvalsh", "qr", "solve", "lu_factor", "lu_solve", "cho_factor", "solve_triangular"),
        DECOMPOSITION,
    ),
    "scipy.fft": dict.fromkeys(("fft", "ifft", "rfft", "irfft", "dct", "idct"), FFT),
    "scipy.fftpack": dict.fromkeys(("rfft", "irfft"), FFT),
    "numpy.fft": dict.fromkeys(("fft", "ifft", "rfft", "irfft"), FFT),
}
_NAMED = {called for kinds in _KINDS.values() for called in kinds}
_BLAS3 = ("gemm", "syrk", "herk", "symm", "hemm", "trmm", "syr2k", "her2k")
_LEVEL12 = ("axpy", "dot", "nrm2", "scal", "copy", "gemv", "asum")


class Ledger:
    """Seconds, calls and floating-point operations by kind and name; threads of a pool count by their share."""

    def __init__(self) -> None:
        self.workers = 1
        self.entries: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0.0, 0, 0.0])
        self._lock = threading.Lock()

    def clear(self) -> None:
        """Forget everything."""
        self.entries.clear()

    def add(self, kind: str, name: str, seconds: float, flops: float) -> None:
        """Enter one call. On a pool's thread a second of work is a second of wall time over the number of threads."""
        if threading.current_thread() is not threading.main_thread():
            seconds /= self.workers
        with self._lock:
            entry = self.entries[kind, name]
            entry[0] += seconds
            entry[1] += 1
            entry[2] += flops

    def seconds(self) -> float:
        """Return all seconds that are entered."""
        with self._lock:
            return sum(entry[0] for entry in self.entries.values())

    def rows(self) -> list[dict[str, Any]]:
        """Return the entries, the most expensive first."""
        rows = [
            {"kind": kind, "name": name, "seconds": s, "calls": int(n), "gflops": f / s / 1e9 if s else 0.0}
            for (kind, name), (s, n, f) in self.entries.items()
        ]
        return sorted(rows, key=lambda row: -row["seconds"])


LEDGER = Ledger()
_names: dict[Any, tuple[str, str] | None] = {}


def name(f: Any, kind: str, called: str) -> None:
    """Enter the calls of one more function; nothing that it calls itself should be entered, unless it is a PASS."""
    _names[f] = (kind, called)


def name_module(module: Any) -> None:
    """Enter the calls of a module's own functions that are named like a decomposition (one that wraps LAPACK)."""
    for called in _KINDS["scipy.linalg"]:
        if (f := getattr(module, called, None)) is not None:
            name(f, DECOMPOSITION, called)


def _name_functions() -> None:
    for module, kinds in _KINDS.items():
        loaded = importlib.import_module(module)
        for called, kind in kinds.items():
            _names[getattr(loaded, called)] = (kind, called)


def _kind(f: Any) -> tuple[str, str] | None:
    try:
        if f in _names:
            return _names[f]
    except TypeError:  # not hashable
        return None
    if type(f).__name__ != "fortran":
        return None
    called = str(getattr(f, "__name__", "")).split()[-1]
    if any(called[1:].startswith(low) for low in _LEVEL12):
        kind = None
    else:
        kind = (PRODUCT if called[1:].rstrip("_") in _BLAS3 else DECOMPOSITION, called)
    _names[f] = kind
    return kind


def flops(name: str, args: tuple[Any, ...]) -> float:
    """Return the textbook count of operations.

    A product of (m, k) and (k, n): 2 m n k, half of that for A A^T. A symmetric eigendecomposition with vectors:
    14/3 n^3 (4/3 to tridiagonal form, 4/3 divide and conquer, 2 back). A thin SVD of (m, n), m >= n: 6 m n^2 + 20 n^3
    (Golub and Van Loan). An FFT of real length n: 2.5 n log2 n. Complex arithmetic counts four times.

    >>> flops("matmul", (np.ones((2, 3)), np.ones((3, 4))))
    48.0
    """
    arrays = [a for a in args if isinstance(a, np.ndarray) and a.ndim >= 2]
    if not arrays:
        return 0.0
    a = arrays[0]
    many = math.prod(a.shape[:-2]) * (4.0 if any(np.iscomplexobj(b) for b in arrays) else 1.0)
    m, n = a.shape[-2:]
    if name in ("matmul", "dot") or name.endswith(("gemm", "symm", "hemm")):
        b = arrays[1] if len(arrays) > 1 else a
        if name.endswith("gemm"):  # whichever way round: 2 m n k from the sizes
            k = n if n in b.shape else m
            return 2.0 * a.size * b.size / max(1, k) if many else 0.0
        many = max(many, math.prod(b.shape[:-2]) * (4.0 if np.iscomplexobj(b) else 1.0))
        square = (
            a.__array_interface__["data"] == b.__array_interface__["data"] and a.strides[-2:] == b.strides[-2:][::-1]
        )
        return many * m * n * b.shape[-1] * (1.0 if square else 2.0)
    if "syrk" in name or "herk" in name:
        return many * m * n * min(m, n)
    if name in ("svd",) or "gesdd" in name or "gesvd" in name:
        short, long = sorted((m, n))
        return many * (6.0 * long * short**2 + 20.0 * short**3)
    if name in ("eigh", "eigvalsh") or "evd" in name or "evr" in name:
        return many * 14 / 3 * n**3
    if name in ("fft", "ifft", "rfft", "irfft", "dct", "idct"):
        return 2.5 * a.size * math.log2(max(2, len(a)))
    return 0.0


def _call(f: Any, /, *args: Any, **kwargs: Any) -> Any:
    kind = _kind(f)
    if kind is None or (kind[0] == PRODUCT and any(getattr(a, "ndim", 2) < 2 for a in args)):
        return f(*args, **kwargs)  # a product with a vector is an element-wise pass
    entered = LEDGER.seconds() if kind[0] == PASS else 0.0
    start = time.perf_counter()
    result = f(*args, **kwargs)
    seconds = time.perf_counter() - start
    if kind[0] == PASS:  # its threads have ended, and no others run
        seconds -= LEDGER.seconds() - entered
    LEDGER.add(*kind, seconds, flops(kind[1], (*args, *kwargs.values())))
    return result


def _matmul(a: Any, b: Any) -> Any:
    start = time.perf_counter()
    result = a @ b
    if getattr(a, "ndim", 0) >= 2 and getattr(b, "ndim", 0) >= 2:
        LEDGER.add(PRODUCT, "matmul", time.perf_counter() - start, flops("matmul", (a, b)))
    elif getattr(a, "ndim", 0) == getattr(b, "ndim", 0) == 1:
        LEDGER.add(VECTOR, "inner product", time.perf_counter() - start, 0.0)
    return result


class _Route(ast.NodeTransformer):
    """Send calls and ``@`` inside functions through the ledger."""

    def __init__(self, more: tuple[str, ...]) -> None:
        self.depth, self.more = 0, more

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.depth += 1
        node.body = [self.visit(statement) for statement in node.body]
        self.depth -= 1
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        f = node.func
        called = f.id if isinstance(f, ast.Name) else f.attr if isinstance(f, ast.Attribute) else None
        made = isinstance(f, ast.Call)  # get_lapack_funcs(...)(...)
        named = called is not None and (called in _NAMED or called in self.more or called[1:] in _BLAS3)
        if self.depth == 0 or not (made or named):
            return node
        return ast.Call(ast.Name("__watched_call__", ast.Load()), [node.func, *node.args], node.keywords)

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if self.depth == 0 or not isinstance(node.op, ast.MatMult):
            return node
        return ast.Call(ast.Name("__watched_matmul__", ast.Load()), [node.left, node.right], [])


class _Loader(importlib.machinery.SourceFileLoader):
    more: tuple[str, ...] = ()

    def get_code(self, fullname: str) -> Any:
        path = self.get_filename(fullname)
        tree = ast.fix_missing_locations(_Route(self.more).visit(ast.parse(self.get_data(path))))
        return compile(tree, path, "exec", dont_inherit=True)


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, names: tuple[str, ...], more: tuple[str, ...]) -> None:
        self.names, self.more = names, more

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        if not any(fullname == name or fullname.startswith(name + ".") for name in self.names):
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path)
        if spec is not None and isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            spec.loader = _Loader(fullname, spec.loader.path)
            spec.loader.more = self.more
        return spec


def watch(*names: str, more: tuple[str, ...] = ()) -> Ledger:
    """Time the kernels of these modules, which must not have been imported yet, from now on.

    ``more`` are names of functions that `name` will say are kernels, too.
    """
    early = [name for name in names if name in sys.modules]
    if early:
        raise RuntimeError(f"imported before it could be watched: {', '.join(early)}")
    _name_functions()
    builtins.__watched_call__ = _call  # pyright: ignore[reportAttributeAccessIssue]
    builtins.__watched_matmul__ = _matmul  # pyright: ignore[reportAttributeAccessIssue]
    sys.meta_path.insert(0, _Finder(names, more))
    return LEDGER
