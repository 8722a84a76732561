"""Compressed embeddings: ANT, NBANT and every rival behind `nn.Embedding`'s face."""

from gossamer.models.embeddings.table import EmbeddingTable

ESTIMATORS: dict[str, type] = {}

__all__ = ["ESTIMATORS", "EmbeddingTable"]
