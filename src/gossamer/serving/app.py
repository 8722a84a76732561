"""HTTP over a `Service`: routes and their types."""

from __future__ import annotations

from fastapi import APIRouter, FastAPI

from gossamer.serving.service import Service
from gossamer.version import __version__


def create_app(service: Service, *, explorer: APIRouter | None = None) -> FastAPI:
    """Return the application that answers for `service`; `explorer` is a router with pages of its own."""
    app = FastAPI(title="gossamer", version=__version__)
    app.state.service = service
    if explorer is not None:
        app.include_router(explorer)
    return app
