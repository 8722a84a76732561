"""Sparse sentence codes whose sparsity you can set: HSVAE and its rivals (Prokhorov et al. 2021)."""

ESTIMATORS: dict[str, type] = {}
