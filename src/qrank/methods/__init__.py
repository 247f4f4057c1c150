"""METHODS: every method by its name."""

from .base import Method
from .frame import FTNN, TNNLinear
from .latent import Latent
from .snn import HaLRTC, SiLRTC
from .tmac import TMac
from .tqn import MOTQN, TNN, TNNC, TQN, TTNN, VMTQN, Slicewise, TQNOracle, TQNRandom

METHODS: dict[str, type[Method]] = {
    kind.name: kind
    for kind in (
        *(VMTQN, MOTQN, TNN, TNNC, TTNN, Slicewise, TQN, TQNRandom, TQNOracle, FTNN, TNNLinear),
        *(SiLRTC, HaLRTC, TMac, Latent),
    )
}

__all__ = ["METHODS", "Method"]
