"""Shrinking the slices of a stack on a device: few calls on many slices at once. `kernels/shrink.py` has the facts that it rests on."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from ...errors import KindError
from ..base import Kernels
from ..shrink import Shrunk
from ..spectral import SLICES, tells
from .products_only import WIDEST, shrunk_by_products

TOGETHER = (
    1 << 23
)  # numbers of the slices that are shrunk in one call on a device: what is beside them takes as much memory again


class Slices(Kernels):
    """The operations on the slices of a stack."""

    xp: Any

    def shrink(
        self, g: Any, lam: float, penalty: Any, multiplicity: np.ndarray | None = None, energies: Any = None
    ) -> Shrunk:
        """Replace every slice U S V^T of a stack by U prox(S) V^T, in place; slices that are the two parts of one are paired.

        Of a step only two numbers of each slice and its rank come to the host.
        """
        xp, r = self.xp, len(g)
        single, pairs = self._kinds(r, None if multiplicity is None else multiplicity.tobytes())
        weights = penalty.slice_weights(lambda: self._nuclear_norms(g, single, pairs))
        if weights is not None:
            g /= weights[:, None, None]
            energies = None
        energy = self._energies(g) if energies is None else energies
        energy = xp.astype(energy, xp.float64)
        told = xp.astype(xp.empty((r, 3), g.dtype), xp.float64)  # value, envelope and rank of each slice
        told[:] = 0
        told[:, 1] = energy / (2 * lam)  # of a slice that vanishes, whose s are all at most lam
        piece = max(1, (SLICES if xp.on_cpu else TOGETHER) // (g.shape[1] * g.shape[2]))
        for which, parts in ((single, 1), (pairs, 2)):
            if not len(which):
                continue
            size = energy[which] if parts == 1 else energy[which] + energy[which + 1]
            told[which, 1] = size / (2 * lam)
            live = which[size > lam * lam]
            if parts == 1 and len(live) < r:
                gone = which[~(size > lam * lam)]
                g[gone] = 0
            elif parts == 2 and len(live) < len(which):
                gone = which[~(size > lam * lam)]
                g[gone], g[gone + 1] = 0, 0
            self._shrink_live(g, live, parts == 2, lam, penalty, told, piece)
        values = xp.host(told if weights is None else told * xp.astype(weights * weights, xp.float64)[:, None])
        many = np.ones(r) if multiplicity is None else multiplicity
        ranks = xp.host(told[:, 2]).astype(int)
        if weights is not None:
            g *= weights[:, None, None]
        return Shrunk(float(many @ values[:, 0]), float(many @ values[:, 1]), ranks, g)

    def _shrink_live(self, g: Any, live: Any, paired: bool, lam: float, penalty: Any, told: Any, piece: int) -> None:
        """Shrink slices that do not vanish as a whole, in place, and tell of them."""

        def work(s: slice) -> None:
            self._shrink_some(g, live[s], paired, lam, penalty, told)

        self.xp.each(work, len(live), piece)

    def _kinds(self, r: int, multiplicity: bytes | None) -> tuple[Any, Any]:
        """Return which slices are whole, and which are the real part of one whose imaginary part is the next slice."""
        return _kinds(self.xp, r, multiplicity)

    def _shrink_some(self, g: Any, some: Any, paired: bool, lam: float, penalty: Any, told: Any) -> None:
        """Shrink some slices of a stack in place, and tell of them."""
        xp = self.xp
        whole = not paired and len(some) == len(g)
        a = xp.complex_of(g[some], g[some + 1]) if paired else g if whole else g[some]
        tall = a.shape[1] > a.shape[2]
        a, told[some] = self._shrink_slices(a.swapaxes(1, 2) if tall else a, lam, penalty)
        a = a.swapaxes(1, 2) if tall else a
        if paired:
            g[some], g[some + 1] = a.real, a.imag
        elif whole:
            g[:] = a
        else:
            g[some] = a

    def _shrink_slices(self, a: Any, lam: float, penalty: Any) -> tuple[Any, Any]:
        """Return slices (m, n1, n2), n1 <= n2, shrunk, and (m, 3): penalty, envelope and rank of each."""
        if not self.xp.on_cpu and penalty.name == "nuclear":
            widest = float((abs(a) ** 2).sum((1, 2)).max()) / (lam * lam)
            if widest <= WIDEST:  # false where it is not finite
                return shrunk_by_products(self.xp, a, lam)
        return self._by_eigenvectors(a, lam, penalty)

    def _by_eigenvectors(self, a: Any, lam: float, penalty: Any) -> tuple[Any, Any]:
        """Return the same, of any penalty, by an eigendecomposition of each Gram matrix."""
        xp, n1 = self.xp, a.shape[1]
        gram = a @ xp.adjoint(a)
        energy = float(xp.einsum("mii->m", gram).real.max())
        if not math.isfinite(energy):  # |a_ij|^2 <= a_ii a_jj: then all is finite
            raise np.linalg.LinAlgError("the matrix is not finite")
        w, v = xp.eigh(gram)  # G G^H = V diag(s^2) V^H; only s > lam are wanted
        sure = tells(energy, lam, self._real_dtype(a))
        first = n1 - int((w > lam * lam).sum(1).max()) if sure else 0
        v = v[:, :, first:]
        c = xp.adjoint(v) @ a
        s = xp.sqrt(xp.maximum(w, 0)) if sure else xp.sqrt((c.real**2 + c.imag**2 if _is_complex(c) else c * c).sum(2))
        x = penalty.prox(s, lam)
        if type(x) is not type(s):
            raise KindError(
                f"penalty '{penalty.name}' is written on NumPy: use the functions of kernels.of(s).xp in it"
            )
        x[:, :first] = 0  # rounding of s^2 may differ from that of s where s = lam
        c *= (x[:, first:] / xp.maximum(s[:, first:], lam))[:, :, None]
        envelope = penalty.envelope(s, lam)
        value = (envelope - (s - x) ** 2 / (2 * lam)).sum(1)
        told = xp.stack([value, envelope.sum(1), (x > 0).sum(1) + 0 * value], 1)
        return v @ c, xp.astype(told, xp.float64)

    def _energies(self, g: Any) -> Any:
        """Return the squared norm of each slice."""
        rows = g.reshape(len(g), 1, -1)
        return (rows @ rows.swapaxes(1, 2))[:, 0, 0]

    def _real_dtype(self, a: Any) -> np.dtype:
        return np.dtype(np.float32 if "float32" in str(a.dtype) or "complex64" in str(a.dtype) else np.float64)

    def _nuclear_norms(self, g: Any, single: Any, pairs: Any) -> Any:
        """Return the nuclear norm of each slice; both parts of a complex slice have its norm."""
        xp, norms = self.xp, 0 * g[:, 0, 0]
        for which, paired in ((single, False), (pairs, True)):
            if len(which):
                a = xp.complex_of(g[which], g[which + 1]) if paired else g[which]
                a = a if a.shape[1] <= a.shape[2] else a.swapaxes(1, 2)
                norms[which] = xp.sqrt(xp.maximum(xp.eigh(a @ xp.adjoint(a))[0], 0)).sum(1)
                if paired:
                    norms[which + 1] = norms[which]
        return norms

    def spectral_norm(self, g: Any, multiplicity: np.ndarray | None = None) -> float:
        """Return the largest singular value over the slices of a stack.

        Slices are tried in the order of their Frobenius norms, which bound their spectral norms, until no other can win.
        """
        xp = self.xp
        energy = xp.host(self._energies(g)).astype(float)
        imaginary = np.flatnonzero(multiplicity == 0) if multiplicity is not None else np.zeros(0, int)
        energy[imaginary - 1] += energy[imaginary]
        energy[imaginary] = 0
        bounds, best, second = np.sqrt(energy), 0.0, set(imaginary.tolist())
        for i in np.argsort(bounds)[::-1].tolist():
            if bounds[i] <= best:
                break
            a = xp.complex_of(g[i], g[i + 1]) if i + 1 in second else g[i]
            a = a if a.shape[0] <= a.shape[1] else a.swapaxes(0, 1)
            best = max(best, math.sqrt(max(0.0, float(xp.linalg.eigvalsh(a @ xp.adjoint(a))[-1]))))
        return best


def _is_complex(a: Any) -> bool:
    return "complex" in str(a.dtype)


@lru_cache(maxsize=64)
def _kinds(xp: Any, r: int, multiplicity: bytes | None) -> tuple[Any, Any]:
    """Keep on the device what says which slices belong together: it is the same in every step."""
    many = np.ones(r) if multiplicity is None else np.frombuffer(multiplicity)
    second = many == 0
    first = np.append(second[1:], False)
    return xp.asarray(np.flatnonzero(~second & ~first)), xp.asarray(np.flatnonzero(first))
