"""Transforms along the third mode: t -> T x_3 Q for fixed isometries and for any given Q."""

from . import stiefel as stiefel
from .base import Matrix as Matrix
from .base import Transform as Transform
from .base import checked_matrix as checked_matrix
from .base import load as load
from .base import transform_of as transform_of
from .extended import extended as extended
from .fixed import Cosine as Cosine
from .fixed import Fourier as Fourier
from .fixed import Identity as Identity
from .fixed import PackedFourier as PackedFourier
from .fixed import random_orthogonal as random_orthogonal
from .framelets import Framelet as Framelet
from .pca import check_r as check_r
from .pca import pca as pca
from .wavelets import wavelet as wavelet
