"""One page that shows what served models know: names, groups, maps, layers, runs, and two models side by side."""

from gossamer.serving.explorer.routes import make_router

__all__ = ["make_router"]
