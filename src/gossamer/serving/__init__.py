"""Artifacts that answer: `service` is a Python call, `app` is HTTP over it, `export` is for other runtimes."""
