"""METHODS: every method by its name."""

from ..errors import InputError, nearest
from .auto import Auto
from .base import Method
from .biharmonic import Biharmonic
from .fixed import TNN, TNNC, TQN, TTNN, Slicewise, TQNOracle, TQNRandom
from .frame import FTNN, TNNLinear
from .gaussian import GaussianPatches
from .interpolate import Interpolate
from .joined import Joined
from .kriging import Kriging
from .latent import Latent
from .similar import Similar
from .smooth import Smooth
from .snn import HaLRTC, SiLRTC
from .tmac import TMac
from .tqn import MOTQN, VMTQN
from .views import Views

METHODS: dict[str, type[Method]] = {
    kind.name: kind
    for kind in (
        *(Auto, VMTQN, MOTQN, Views, Joined, TNN, TNNC, TTNN, Slicewise, TQN, TQNRandom, TQNOracle, FTNN, TNNLinear),
        *(SiLRTC, HaLRTC, TMac, Latent, GaussianPatches, Kriging, Interpolate, Smooth, Biharmonic, Similar),
    )
}


def method_named(name: str) -> type[Method]:
    """Return a method by its name, or say which one may be meant; case, spaces and underscores do not matter.

    >>> method_named("tnn").name, method_named("TNN C").name, method_named("f_tnn").name
    ('tnn', 'tnn-c', 'f-tnn')
    """
    plain = "-".join(name.lower().replace("_", " ").replace("-", " ").split())
    if plain not in METHODS:
        raise InputError(f"unknown method '{name}'{nearest(plain, METHODS)}")
    return METHODS[plain]


__all__ = ["METHODS", "Auto", "Method", "method_named"]
