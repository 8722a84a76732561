"""Bi-HGNN: a recommender that knows which communities a user belongs to, and what is the user's own."""
