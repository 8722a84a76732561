"""Planted data, oracles and contract tests: shipped to contributors, imported by no room."""
