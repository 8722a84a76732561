"""The simple models everyone must beat: popularity, item-kNN, EASE, SLIM, implicit ALS and biased MF."""

from gossamer.models.linear.als import ALS
from gossamer.models.linear.biased_mf import BiasedMF
from gossamer.models.linear.ease import EASE
from gossamer.models.linear.item_knn import ItemKNN
from gossamer.models.linear.popularity import Popularity
from gossamer.models.linear.slim import SLIM

ESTIMATORS: dict[str, type] = {
    "popularity": Popularity,
    "item-knn": ItemKNN,
    "ease": EASE,
    "slim": SLIM,
    "als": ALS,
    "biased-mf": BiasedMF,
}

__all__ = ["ALS", "EASE", "ESTIMATORS", "SLIM", "BiasedMF", "ItemKNN", "Popularity"]
