"""The routes: a question in, an answer of the service out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, FastAPI, Response
from fastapi import Request as HttpRequest
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse
from starlette.exceptions import HTTPException

from gossamer.serving import encoding, recommending, similarity
from gossamer.serving.counters import CONTENT_TYPE, Counters
from gossamer.serving.errors import Busy, CannotAnswer, NotFound
from gossamer.serving.gate import error_body
from gossamer.serving.loading import LoadedModel
from gossamer.serving.messages import (
    EncodeRequest,
    EncodeResponse,
    Error,
    ExplainRequest,
    ExplainResponse,
    ModelDescription,
    NextRequest,
    NextResponse,
    RecommendRequest,
    RecommendResponse,
    SimilarRequest,
    SimilarResponse,
)
from gossamer.serving.reference import reference_page
from gossamer.version import __version__

if TYPE_CHECKING:
    from gossamer.serving.app import Asking

ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": Error, "description": meaning}
    for status, meaning in {
        400: "The model does not do that, or cannot read what it was given.",
        401: "The token is missing or wrong.",
        404: "The model, item or user is not known.",
        408: "The body did not arrive in time.",
        413: "The body is too large.",
        422: "The request is not as the schema says.",
        431: "The headers are too large.",
        503: "Too many questions wait, or this one took too long.",
    }.items()
}
STATUS: dict[type[Exception], int] = {NotFound: 404, CannotAnswer: 400, ValueError: 400, Busy: 503}


def make_router(asking: Asking, counters: Counters) -> APIRouter:
    """Return the routes of questions and of the server's own state."""
    router = APIRouter(responses=ERRORS)
    service = asking.service

    # Answers are made by us and written as they are: to check them again would cost more than to make them.
    @router.post("/recommend", response_model=RecommendResponse)
    async def recommend(request: RecommendRequest) -> Response:
        """Return the best items for a user or after a history."""
        model = service.find(request.model)
        wanted = recommending.look_up(model, request.user, request.history, request.n, request.exclude_seen)
        return _json(await asking.batcher.ask((model, "recommend"), wanted))

    @router.post("/encode", response_model=EncodeResponse)
    async def encode(request: EncodeRequest) -> Response:
        """Return the sparse codes of documents, texts, histories or rows of numbers."""
        given = encoding.look_at(request.documents, request.texts, request.histories, request.rows)
        return _json(await asking.batcher.ask((service.find(request.model), "encode"), given))

    @router.post("/similar", response_model=SimilarResponse)
    async def similar(request: SimilarRequest) -> Response:
        """Return the items or words nearest to one."""
        model = service.find(request.model)
        near = similarity.look_up(model, request.item, request.n)
        return _json(await asking.batcher.ask((model, "similar"), near))

    @router.post("/explain", response_model=ExplainResponse)
    async def explain(request: ExplainRequest) -> Response:
        """Return tables for people: of a model, of a user, or of what in a history speaks for an item."""
        return _json(await asking.ask(lambda: service.explain(**_given(request))))

    @router.post("/next", response_model=NextResponse)
    async def next_step(request: NextRequest) -> Response:
        """Return the phase a series is in, the next one and when, and what to expect of the next step."""
        return _json(await asking.ask(lambda: service.next(**_given(request))))

    @router.get("/models", response_model=list[ModelDescription])
    async def models() -> Response:
        """Return the models that are served and what each of them answers."""
        return _json([_description(model) for model in service.models.values()])

    @router.get("/health")
    async def health() -> dict[str, Any]:
        """Say that the server is up; needs no token."""
        return {"status": "ok", "version": __version__, "models": len(service.models)}

    @router.get("/metrics", response_class=Response)
    async def metrics() -> Response:
        """Return counters and times as Prometheus reads them."""
        return Response(counters.text(), media_type=CONTENT_TYPE)

    @router.get("/docs", include_in_schema=False)
    async def docs(request: HttpRequest) -> HTMLResponse:
        """Return the page that shows all routes."""
        return HTMLResponse(reference_page(request.app.openapi()))

    return router


def answer_errors(app: FastAPI) -> None:
    """Let every error be one sentence of JSON."""
    for kind, status in STATUS.items():

        def answer(_: HttpRequest, error: Exception, status: int = status) -> Response:
            headers = {"retry-after": "1"} if status == 503 else None
            return Response(error_body(str(error)), status, headers, media_type="application/json")

        app.add_exception_handler(kind, answer)

    def answer_http(_: HttpRequest, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        sentence = {404: "there is no such page; /docs lists those there are", 405: "this path has another method"}
        return Response(
            error_body(sentence.get(error.status_code, str(error.detail))),
            error.status_code,
            dict(error.headers or {}),
            media_type="application/json",
        )

    def answer_invalid(_: HttpRequest, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return Response(error_body(describe_invalid(error)), 422, media_type="application/json")

    app.add_exception_handler(HTTPException, answer_http)
    app.add_exception_handler(RequestValidationError, answer_invalid)


def describe_invalid(error: RequestValidationError) -> str:
    """Return what is wrong with a request as one sentence: the first fault, and where it is.

    A field that may have several types has a fault for each of them: the one that lies deepest is of the type that was
    meant, because the others already fail at the field itself.
    """
    faults = error.errors()
    field = faults[0]["loc"][:2]
    fault = max((one for one in faults if one["loc"][:2] == field), key=lambda one: len(one["loc"]))
    if fault["type"] == "json_invalid":
        return f"the body must be JSON, which it is not from character {fault['loc'][-1]} on"
    if isinstance(error.body, bytes):
        return "the header Content-Type must be application/json"
    # Beside names of fields there are names of types, where a field may have several.
    place = ".".join(str(part) for part in fault["loc"][1:] if str(part).isidentifier() or isinstance(part, int))
    return f"{place or 'the body'} is not as it must be: {fault['msg']}"[:500]


def _given(request: Any) -> dict[str, Any]:
    """Return what a request says, as arguments of the service."""
    return {name: getattr(request, name) for name in type(request).model_fields}


def _description(model: LoadedModel) -> dict[str, Any]:
    return {
        "name": model.name,
        "kind": model.kind,
        "questions": list(model.questions),
        "things": None if model.names is None else len(model.names),
        "provenance": model.config["provenance"],
        "metrics": model.config["metrics"],
    }


def _json(answer: Any) -> Response:
    return Response(json.dumps(answer, separators=(",", ":"), allow_nan=False), media_type="application/json")
