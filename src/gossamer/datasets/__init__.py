"""One file per public data set: find or download it, verify it, parse it into a container."""

from gossamer.datasets.catalogue import available, find, load, locate
from gossamer.datasets.dataset import DatasetInfo
from gossamer.datasets.pretrained import load_weights

__all__ = ["DatasetInfo", "available", "find", "load", "load_weights", "locate"]
