"""Ratings from compressed tables of users and items: the closed-form solver, the paper's algorithm, the estimators."""
