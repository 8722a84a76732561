"""Artifacts that answer: `service` in Python, `app` over HTTP, `export` in other runtimes."""
