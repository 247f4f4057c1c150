"""Transforms along the third mode."""

from .base import (
    Cosine,
    Fourier,
    Identity,
    Matrix,
    PackedFourier,
    Transform,
    checked_matrix,
    load,
    random_orthogonal,
    transform_of,
)

__all__ = [
    "Cosine",
    "Fourier",
    "Identity",
    "Matrix",
    "PackedFourier",
    "Transform",
    "checked_matrix",
    "load",
    "random_orthogonal",
    "transform_of",
]
