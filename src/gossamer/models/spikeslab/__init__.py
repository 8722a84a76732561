"""Sparse sentence codes whose sparsity you can set: HSVAE and its rivals (Prokhorov et al. 2021)."""

from gossamer.models.spikeslab.sentence_vae import SentenceVAE

ESTIMATORS: dict[str, type] = {"sentence-vae": SentenceVAE}

__all__ = ["ESTIMATORS", "SentenceVAE"]
