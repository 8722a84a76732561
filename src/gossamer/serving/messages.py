"""Requests and responses as JSON has them: what pydantic checks and the OpenAPI page shows."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StrictInt, StrictStr, field_validator
from pydantic_core import PydanticCustomError

from gossamer.serving.settings import LONGEST_ID, MOST_HISTORY, MOST_ITEMS, MOST_NUMBERS, MOST_ROWS, MOST_STEPS

Name = Annotated[StrictStr, Field(max_length=LONGEST_ID)]
Id = Name | Annotated[StrictInt, Field(ge=-(2**63), lt=2**63)]
Number = Annotated[float, Field(ge=-1e30, le=1e30)]  # within single precision, which models compute in
Count = Annotated[int, Field(ge=1, le=MOST_ITEMS)]
History = (
    Annotated[list[Id], Field(max_length=MOST_HISTORY)] | Annotated[dict[Name, Number], Field(max_length=MOST_HISTORY)]
)
Document = Annotated[dict[Name, Annotated[float, Field(ge=0, le=1e6)]], Field(max_length=MOST_HISTORY)]
Row = Annotated[list[Number], Field(max_length=MOST_NUMBERS)]
Rows = Field(default=None, min_length=1, max_length=MOST_ROWS)


class Request(BaseModel):
    """What every question has: which model, where there is more than one."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    model: Name | None = Field(None, description="The name of the model's directory; may be left out if there is one.")


class RecommendRequest(Request):
    """Items for a user of the training data (`--users`), or after a history; neither: for anybody."""

    user: Id | None = Field(None, description="A user of the training data; an unknown one gets what strangers get.")
    history: History | None = Field(None, description="Item ids, or ratings by item id; goes before `user`.")
    n: Count = 10
    exclude_seen: bool = Field(True, description="Leave out items of the history.")

    model_config = ConfigDict(json_schema_extra={"examples": [{"history": ["os.path.join"], "n": 5}]})


class EncodeRequest(Request):
    """One of `documents`, `texts`, `histories` and `rows`."""

    documents: list[Document] | None = Field(None, min_length=1, max_length=MOST_ROWS, description="Counts of terms.")
    texts: list[StrictStr] | None = Rows
    histories: list[Annotated[list[Id], Field(max_length=MOST_HISTORY)]] | None = Rows
    rows: list[Row] | None = Rows

    model_config = ConfigDict(json_schema_extra={"examples": [{"texts": ["read a file line by line"]}]})


class SimilarRequest(Request):
    """What is near an item or word."""

    item: Id
    n: Count = 10

    model_config = ConfigDict(json_schema_extra={"examples": [{"item": "os.path.join", "n": 5}]})


class ExplainRequest(Request):
    """The model as a whole, one of its users, or what in `history` speaks for `item`."""

    user: Id | None = None
    history: History | None = None
    item: Id | None = None
    n: Count = 10

    model_config = ConfigDict(json_schema_extra={"examples": [{"n": 3}]})


class NextRequest(Request):
    """A series of events, or of vectors; null where an event or a value is missing."""

    sequence: (
        Annotated[list[Id | None], Field(min_length=1, max_length=MOST_STEPS)]
        | Annotated[
            list[Annotated[list[Number | None], Field(min_length=1)]], Field(min_length=1, max_length=MOST_STEPS)
        ]
    )
    features: Row | None = Field(None, description="Of the series, where the model was fitted with features.")
    n: Count = Field(10, description="How many of the likeliest next events are named.")

    model_config = ConfigDict(json_schema_extra={"examples": [{"sequence": ["open", "read", "close"]}]})

    @field_validator("sequence", mode="before")
    @classmethod
    def _check_length(cls, sequence: Any) -> Any:
        """Count before anything else: of two types that a series may have, each would complain of every step."""
        if isinstance(sequence, list) and len(sequence) > MOST_STEPS:
            raise PydanticCustomError(
                "too_many_steps",
                "a series may have at most {most} steps, got {given}; send the last ones",
                {"most": MOST_STEPS, "given": len(sequence)},
            )
        return sequence


class Scored(BaseModel):
    """An item and its score."""

    item: str | int
    score: float
    title: str | None = None


class RecommendResponse(BaseModel):
    """The best items, best first; `cold_start` where nothing was known to go by, `unknown` ids that were not known."""

    model: str
    items: list[Scored]
    cold_start: bool
    unknown: list[str | int]


class Valued(BaseModel):
    """A feature, category or dimension and its value: of a code, a probability, or a mean."""

    name: str
    value: float


class EncodeResponse(BaseModel):
    """One code per row: the features that are not zero."""

    model: str
    codes: list[list[Valued]]


class SimilarResponse(BaseModel):
    """The nearest items, nearest first, by the model's `weight` or by the `cosine` of vectors."""

    model: str
    item: str | int
    measure: str
    items: list[Scored]


class ExplainResponse(BaseModel):
    """Named tables, each a list of rows with equal keys."""

    model: str
    tables: dict[str, list[dict[str, Any]]]


class NextResponse(BaseModel):
    """The present state, states of the next step, and where the model has durations, the next phase and when."""

    model: str
    state: int
    state_probs: list[float]
    next_step_probs: list[float]
    expected: list[Valued]
    next_state: int | None = None
    next_state_probs: list[float] | None = None
    steps_until: float | None = None


class ModelDescription(BaseModel):
    """A model that is served and what it answers."""

    name: str
    kind: str
    questions: list[str]
    things: int | None = Field(description="How many items, words or terms it knows.")
    provenance: dict[str, Any]
    metrics: dict[str, float]


class Error(BaseModel):
    """One sentence on what is wrong."""

    error: str
