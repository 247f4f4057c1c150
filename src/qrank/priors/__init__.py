"""Priors: what the answer should be like, each a prox or what stands for one."""

from .average import Average as Average
from .average import Averaged as Averaged
from .average import Seen as Seen
from .base import Prior as Prior
from .base import Proxed as Proxed
from .descent import REST as REST
from .descent import STARTS as STARTS
from .descent import ManifoldDescent as ManifoldDescent
from .descent import PrintedDescent as PrintedDescent
from .qnorm import Fixed as Fixed
from .qnorm import Learner as Learner
from .qnorm import QNorm as QNorm
from .variance import MaximalVariance as MaximalVariance
