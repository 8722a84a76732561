"""Artifacts that answer: in other runtimes, and over HTTP."""
