"""Bi-HGNN: a recommender that knows which communities a user belongs to, and what is the user's own."""

from gossamer.models.community.recommender import CommunityRecommender

ESTIMATORS: dict[str, type] = {"communities": CommunityRecommender}

__all__ = ["ESTIMATORS", "CommunityRecommender"]
