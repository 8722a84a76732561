"""One file per public data set: find or download it, verify it, parse it into a container."""

from gossamer.datasets.catalogue import available, load, locate
from gossamer.datasets.dataset import DatasetInfo

__all__ = ["DatasetInfo", "available", "load", "locate"]
