"""Artifact → answers: `service` is a Python call and needs no server; `app` is HTTP, a thin skin over it."""
