"""Compressed embeddings: ANT, NBANT and every rival behind `nn.Embedding`'s face."""

from gossamer.models.embeddings.classifier import AnchorTextClassifier
from gossamer.models.embeddings.language_model import AnchorLanguageModel
from gossamer.models.embeddings.nonparametric_recommender import NonparametricRecommender
from gossamer.models.embeddings.recommender import AnchorRecommender
from gossamer.models.embeddings.table import EmbeddingTable

ESTIMATORS: dict[str, type] = {
    "anchor-recommender": AnchorRecommender,
    "anchor-text-classifier": AnchorTextClassifier,
    "anchor-language-model": AnchorLanguageModel,
    "nbant-recommender": NonparametricRecommender,
}

__all__ = [
    "ESTIMATORS",
    "AnchorLanguageModel",
    "AnchorRecommender",
    "AnchorTextClassifier",
    "EmbeddingTable",
    "NonparametricRecommender",
]
