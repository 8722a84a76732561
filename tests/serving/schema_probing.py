"""What schemathesis makes up from the schema of a server, asked, and every answer held against that schema.

GOSSAMER_EXAMPLES=1000 python -m pytest tests/serving -k schemathesis     a longer run
"""

from __future__ import annotations

import os
from collections.abc import Callable

import schemathesis
from fastapi import FastAPI
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]


def num_examples(usual: int) -> int:
    """Return how many questions are made up for one route and mode."""
    return int(os.environ.get("GOSSAMER_EXAMPLES", usual))


def probe(
    app: FastAPI,
    path: str,
    method: str,
    mode: GenerationMode,
    examples: int,
    mend: Callable[[schemathesis.Case], None] = lambda _: None,
) -> None:
    """Ask one route; by schemathesis's strategies rather than its pytest plugin, which does not know this pytest.

    `mend` may put into a question what chance would not find, such as the name of a model.
    """
    operation = schemathesis.openapi.from_asgi("/openapi.json", app)[path][method]

    @settings(max_examples=num_examples(examples), deadline=None, suppress_health_check=list(HealthCheck))
    @given(case=operation.as_strategy(generation_mode=mode))
    def ask(case: schemathesis.Case) -> None:
        mend(case)
        case.call_and_validate(checks=CHECKS)

    ask()
