"""Sparse discrete codes with a hard limit on how many features are on (Xu et al. 2021)."""

from gossamer.models.discrete.codes import SparseCodes
from gossamer.models.discrete.count_regressor import SparseCountRegressor
from gossamer.models.discrete.gumbel_vae import GumbelVAE
from gossamer.models.discrete.label_classifier import SparseLabelClassifier
from gossamer.models.discrete.label_knn import MLkNN
from gossamer.models.discrete.label_linear import LinearLabelClassifier
from gossamer.models.discrete.sparse_vae import SparseDiscreteVAE

ESTIMATORS: dict[str, type] = {
    "sparse-discrete-vae": SparseDiscreteVAE,
    "gumbel-vae": GumbelVAE,
    "sparse-label-classifier": SparseLabelClassifier,
    "label-linear": LinearLabelClassifier,
    "ml-knn": MLkNN,
    "sparse-count-regressor": SparseCountRegressor,
}

__all__ = [
    "ESTIMATORS",
    "GumbelVAE",
    "LinearLabelClassifier",
    "MLkNN",
    "SparseCodes",
    "SparseCountRegressor",
    "SparseDiscreteVAE",
    "SparseLabelClassifier",
]
