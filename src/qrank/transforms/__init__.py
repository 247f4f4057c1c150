"""Transforms along the third mode: t -> T x_3 Q for fixed isometries and for any given Q."""

from . import stiefel
from .base import Matrix, Transform, checked_matrix, load, transform_of
from .fixed import Cosine, Fourier, Identity, PackedFourier, random_orthogonal
from .framelets import Framelet
from .pca import check_r, pca
from .wavelets import wavelet

__all__ = [
    "Cosine",
    "Fourier",
    "Framelet",
    "Identity",
    "Matrix",
    "PackedFourier",
    "Transform",
    "check_r",
    "checked_matrix",
    "load",
    "pca",
    "random_orthogonal",
    "stiefel",
    "transform_of",
    "wavelet",
]
