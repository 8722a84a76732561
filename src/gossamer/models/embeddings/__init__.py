"""Compressed embeddings: ANT, NBANT and every rival behind `nn.Embedding`'s face."""

from gossamer.models.embeddings.anchor import AnchorEmbedding
from gossamer.models.embeddings.compress import compress_embeddings_
from gossamer.models.embeddings.knowledge.relations import Relations
from gossamer.models.embeddings.mixture import AnchorMixture
from gossamer.models.embeddings.optimiser import make_optimiser
from gossamer.models.embeddings.ratings.nonparametric_recommender import NonparametricRecommender
from gossamer.models.embeddings.ratings.recommender import AnchorRecommender
from gossamer.models.embeddings.table import EmbeddingTable
from gossamer.models.embeddings.text.classifier import AnchorTextClassifier
from gossamer.models.embeddings.text.language_model import AnchorLanguageModel

ESTIMATORS: dict[str, type] = {
    "anchor-recommender": AnchorRecommender,
    "anchor-text-classifier": AnchorTextClassifier,
    "anchor-language-model": AnchorLanguageModel,
    "nbant-recommender": NonparametricRecommender,
}

__all__ = [
    "ESTIMATORS",
    "AnchorEmbedding",
    "AnchorLanguageModel",
    "AnchorMixture",
    "AnchorRecommender",
    "AnchorTextClassifier",
    "EmbeddingTable",
    "NonparametricRecommender",
    "Relations",
    "compress_embeddings_",
    "make_optimiser",
]
