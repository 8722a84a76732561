"""Sparse sentence codes whose sparsity you can set: HSVAE and its rivals (Prokhorov et al. 2021)."""

from gossamer.models.spikeslab.pretrained import PretrainedEncoder
from gossamer.models.spikeslab.sentence_probe import SentenceProbe
from gossamer.models.spikeslab.sentence_vae import SentenceVAE

ESTIMATORS: dict[str, type] = {"sentence-vae": SentenceVAE, "sentence-probe": SentenceProbe}

__all__ = ["ESTIMATORS", "PretrainedEncoder", "SentenceProbe", "SentenceVAE"]
