"""Data to try things on: the paper's synthetic tensors, patterns of what is observed, and a clip with cuts."""

from .patterns import PATTERNS, observed
from .pictures import GREY, clip, scenes
from .synthetic import low_q_rank

__all__ = ["GREY", "PATTERNS", "clip", "low_q_rank", "observed", "scenes"]
