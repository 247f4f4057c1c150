"""METHODS: every method by its name."""

from .base import Method
from .tqn import MOTQN, TNN, TNNC, TQN, TTNN, VMTQN, Slicewise, TQNOracle, TQNRandom

METHODS: dict[str, type[Method]] = {
    kind.name: kind for kind in (VMTQN, MOTQN, TNN, TNNC, TTNN, Slicewise, TQN, TQNRandom, TQNOracle)
}

__all__ = ["METHODS", "Method"]
