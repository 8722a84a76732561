"""Nonlinear factor analysis of sparse counts, with inference refined per data point (Krishnan et al. 2018)."""

from gossamer.models.counts.cdae import CDAE
from gossamer.models.counts.count_vae import CountVAE
from gossamer.models.counts.mult_vae import MultVAE
from gossamer.models.counts.recommender import CountRecommender
from gossamer.models.counts.refinement import Refinement
from gossamer.models.counts.unigram import Unigram

ESTIMATORS: dict[str, type] = {
    "unigram": Unigram,
    "count-vae": CountVAE,
    "count-recommender": CountRecommender,
    "mult-vae": MultVAE,
    "cdae": CDAE,
}

__all__ = ["CDAE", "ESTIMATORS", "CountRecommender", "CountVAE", "MultVAE", "Refinement", "Unigram"]
