"""Bi-HGNN: a recommender that knows which communities a user belongs to, and what is the user's own; and LightGCN."""

from gossamer.models.community.lightgcn import LightGCN
from gossamer.models.community.recommender import CommunityRecommender

ESTIMATORS: dict[str, type] = {"communities": CommunityRecommender, "lightgcn": LightGCN}

__all__ = ["ESTIMATORS", "CommunityRecommender", "LightGCN"]
