"""The explorer over HTTP: one page, its files, and typed answers for it."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response

from gossamer.serving.errors import NotFound
from gossamer.serving.explorer.about import About, Examples, Ranking, about, examples, near_by
from gossamer.serving.explorer.comparison import Answers, Comparison, answer_both, compare
from gossamer.serving.explorer.directions import Ends
from gossamer.serving.explorer.drawing import Drawing
from gossamer.serving.explorer.group_views import (
    NUM_MEMBERS,
    AllTogether,
    GroupSet,
    OpenGroup,
    Spread,
    list_group_sets,
    list_salient,
    open_group,
    spread_name,
)
from gossamer.serving.explorer.groups import RELEVANCE
from gossamer.serving.explorer.knowledge import Knowledge
from gossamer.serving.explorer.layers import Inside, look_inside
from gossamer.serving.explorer.maps import PointMap, make_map
from gossamer.serving.explorer.names import MOST_LETTERS, Found
from gossamer.serving.explorer.overview import ModelSummary, Overview, overview, summarise
from gossamer.serving.explorer.runs import Experiment, Runs, Trade
from gossamer.serving.explorer.tensors import TensorFacts, describe_array, find_array, npy_bytes
from gossamer.serving.routes import ERRORS
from gossamer.serving.service import Service

# Nothing from elsewhere, nothing inline: a name that got into the page as markup could still do nothing.
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}
TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}

Text = Annotated[str, Query(max_length=MOST_LETTERS)]
Name = Annotated[str, Query(max_length=10_000)]
Axes = Annotated[str, Query(pattern=r"^[1-9][0-9]?(,[1-9][0-9]?){1,2}$")]
Count = Annotated[int, Query(ge=1, le=100)]


class Shelf:
    """What is known of each served model; worked out anew when the service has replaced a model."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._known: dict[str, Knowledge] = {}

    def names(self) -> list[str]:
        """Return the models that are served now."""
        return list(self._service.models)

    def open(self, name: str) -> Knowledge:
        """Return what is known of a model."""
        model = self._service.find(name)
        held = self._known.get(name)
        if held is None or held.model is not model:
            held = self._known[name] = Knowledge(model, self._service.ask)
        return held


def make_router(service: Service, results: str | Path | None = None) -> APIRouter:
    """Return the routes of the explorer over the models of `service`.

    `results` is the folder of result records; without it, `results` beside the working directory is taken.
    """
    shelf = Shelf(service)
    runs = Runs(Path("results") if results is None else Path(results))
    router = APIRouter(tags=["explorer"], responses=ERRORS)
    _add_page(router)
    _add_models(router, shelf)
    _add_names(router, shelf)
    _add_groups(router, shelf)
    _add_comparisons(router, shelf)
    _add_runs(router, runs)
    return router


def _files() -> dict[str, bytes]:
    folder = resources.files("gossamer.serving.explorer") / "static"
    return {entry.name: entry.read_bytes() for entry in folder.iterdir() if Path(entry.name).suffix in TYPES}


def _add_page(router: APIRouter) -> None:
    files = _files()

    @router.get("/", include_in_schema=False)
    def page() -> Response:
        """Return the page."""
        return Response(files["index.html"], media_type="text/html", headers=HEADERS)

    @router.get("/explore/static/{name}", include_in_schema=False)
    def static(name: str) -> Response:
        """Return one of the page's files; a name is looked up, never opened."""
        if name not in files:
            raise NotFound(f"There is no file {name[:80]!r}.")
        return Response(files[name], media_type=TYPES[Path(name).suffix], headers=HEADERS)


def _add_models(router: APIRouter, shelf: Shelf) -> None:
    @router.get("/explore/models")
    def models() -> list[ModelSummary]:
        """List the models that are served."""
        return [summarise(shelf.open(name)) for name in shelf.names()]

    @router.get("/explore/model")
    def model(model: Text) -> Overview:
        """Say what a model is: class, settings, data, metrics, size, training, card."""
        return overview(shelf.open(model))

    @router.get("/explore/layers")
    def layers(model: Text) -> Inside:
        """List the layers of a model."""
        known = shelf.open(model)
        found: Inside = known.ask(lambda: look_inside(known.estimator))
        return found

    @router.get("/explore/graph")
    def graph(model: Text, part: Annotated[int, Query(ge=0)] = 0) -> Drawing:
        """Draw how a model computes its answer: operators, and what they pass on; of a long graph one part."""
        return shelf.open(model).drawing(part)

    @router.get("/explore/tensor")
    def tensor(model: Text, layer: Text, weight: Text) -> TensorFacts:
        """Say what numbers an array of a model has."""
        known = shelf.open(model)
        return describe_array(layer, weight, known.ask(lambda: find_array(known.estimator, layer, weight)))

    @router.get("/explore/tensor.npy", response_class=Response)
    def tensor_file(model: Text, layer: Text, weight: Text) -> Response:
        """Return an array of a model as a NumPy file."""
        known = shelf.open(model)
        content = npy_bytes(known.ask(lambda: find_array(known.estimator, layer, weight)))
        # A name of ours: names of layers are somebody else's words, which no header should carry.
        headers = {**HEADERS, "Content-Disposition": 'attachment; filename="weight.npy"'}
        return Response(content, media_type="application/octet-stream", headers=headers)


def _add_names(router: APIRouter, shelf: Shelf) -> None:
    @router.get("/explore/search")
    def search(model: Text, q: Text, n: Count = 20) -> Found:
        """Find names by a part of them."""
        return shelf.open(model).names.search(q, n)

    @router.get("/explore/examples")
    def some_names(model: Text) -> list[Examples]:
        """List names to begin with."""
        return examples(shelf.open(model))

    @router.get("/explore/about")
    def about_name(model: Text, kind: Text, name: Name, n: Count = 10) -> About:
        """Say what a model knows about a name."""
        return about(shelf.open(model), kind, name, n)

    @router.get("/explore/map")
    def point_map(
        model: Text,
        kind: Text,
        projection: Literal["pca", "neighbours", "tsne", "directions"] = "pca",
        axes: Axes = "1,2",
        colour: Text | None = None,
        across_from: Name | None = None,
        across_to: Name | None = None,
        up_from: Name | None = None,
        up_to: Name | None = None,
    ) -> PointMap:
        """Return the map of a vocabulary; `axes` are two or three numbers of components.

        Directions run across from one name to another, and up from one to another.
        """
        ends = Ends(across_from, across_to, up_from, up_to)
        return make_map(shelf.open(model), kind, projection, [int(axis) for axis in axes.split(",")], colour, ends)

    @router.get("/explore/neighbours")
    def near(model: Text, kind: Text, name: Name, measure: Text | None = None, n: Count = 10) -> Ranking:
        """Return the names nearest to one, by cosine, by euclidean distance or by what an item model says."""
        return near_by(shelf.open(model), kind, name, measure, n)


def _add_groups(router: APIRouter, shelf: Shelf) -> None:
    @router.get("/explore/groups")
    def groups(model: Text) -> list[GroupSet]:
        """List what a model sorts its names into: anchors, topics, communities, features, phases."""
        return list_group_sets(shelf.open(model))

    @router.get("/explore/group")
    def group(
        model: Text,
        key: Text,
        number: int,
        n: Count = NUM_MEMBERS,
        relevance: Annotated[float, Query(ge=0, le=1)] = RELEVANCE,
    ) -> OpenGroup:
        """Return one group with its members."""
        return open_group(shelf.open(model), key, number, n, relevance)

    @router.get("/explore/salient")
    def salient(model: Text, key: Text, n: Count = NUM_MEMBERS) -> AllTogether:
        """List the names that tell most about all groups of a set."""
        return list_salient(shelf.open(model), key, n)

    @router.get("/explore/spread")
    def spread(model: Text, key: Text, name: Name) -> Spread:
        """Say how a name divides over the groups of a set."""
        return spread_name(shelf.open(model), key, name)


def _add_comparisons(router: APIRouter, shelf: Shelf) -> None:
    @router.get("/explore/compare")
    def compare_models(left: Text, right: Text) -> Comparison:
        """Put two models side by side."""
        return compare(shelf.open(left), shelf.open(right))

    @router.get("/explore/answers")
    def answers(left: Text, right: Text, kind: Text, name: Name) -> Answers:
        """Put what two models know about a name side by side."""
        return answer_both(shelf.open(left), shelf.open(right), kind, name)


def _add_runs(router: APIRouter, runs: Runs) -> None:
    @router.get("/explore/runs")
    def experiments() -> list[Experiment]:
        """List the experiments that have result records."""
        return runs.experiments()

    @router.get("/explore/trade")
    def trade(experiment: Text, x: Text, y: Text) -> Trade:
        """Return cost and quality of every row of an experiment, and its Pareto front."""
        return runs.trade(experiment, x, y)
