"""A single picture as a stack of its patches: they resemble each other, which is what a low rank needs.

A picture alone is one matrix a colour, and its low rank says little about a scratch through it. Cut into squares it is
a stack of many small slices, which a few principal directions explain. Measured on scikit-learn's china.jpg with 6 %
scratched: 19.5 dB over the missing pixels, 18.8 dB without patches, and fewer streaks to be seen. Sides of 8, 16, 24
and 32 were tried on its two photographs only, at half size; 16 had the best PSNR on both.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

SIZE = 16


@dataclass(frozen=True)
class Patches:
    """How an array is cut along two axes into squares, the last ones padded.

    >>> cut = Patches((40, 50, 3), (0, 1), 16)
    >>> x = np.arange(6000).reshape(40, 50, 3)
    >>> cut.split(x, 0).shape, cut.slice_axes, bool((cut.join(cut.split(x, 0)) == x).all())
    ((3, 16, 4, 16, 3), (1, 3), True)
    """

    shape: tuple[int, ...]
    pair: tuple[int, int]
    size: int = SIZE

    @property
    def padded(self) -> tuple[int, ...]:
        """The shape with both axes brought to a multiple of the size."""
        return tuple(-(-n // self.size) * self.size if axis in self.pair else n for axis, n in enumerate(self.shape))

    @property
    def slice_axes(self) -> tuple[int, int]:
        """The axes of a patch in the array that is cut."""
        first, second = self.pair
        return (first + 1 + (second < first), second + 1 + (first < second))

    def split(self, x: np.ndarray, padding: float | bool) -> np.ndarray:
        """Return x with each of the two axes parted into which patch, and where in it."""
        width = [(0, wide - n) for wide, n in zip(self.padded, x.shape, strict=True)]
        parted = [
            n
            for axis, m in enumerate(self.padded)
            for n in ((m // self.size, self.size) if axis in self.pair else (m,))
        ]
        return np.pad(x, width, constant_values=padding).reshape(parted)

    def join(self, x: np.ndarray) -> np.ndarray:
        """Undo :meth:`split`."""
        return np.ascontiguousarray(x.reshape(self.padded)[tuple(slice(n) for n in self.shape)])
