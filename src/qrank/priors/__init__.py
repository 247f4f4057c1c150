"""Priors: what the answer should be like, each a prox or what stands for one."""

from .average import Average, Seen
from .base import Prior, Proxed
from .descent import STARTS, ManifoldDescent, PrintedDescent
from .qnorm import Drawn, Fixed, Learner, QNorm
from .variance import MaximalVariance

__all__ = [
    "STARTS",
    "Average",
    "Drawn",
    "Fixed",
    "Learner",
    "ManifoldDescent",
    "MaximalVariance",
    "PrintedDescent",
    "Prior",
    "Proxed",
    "QNorm",
    "Seen",
]
