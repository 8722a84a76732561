"""The page that shows all routes: made from the OpenAPI schema, with nothing from elsewhere."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from jinja2 import Environment, StrictUndefined

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{ info.title }} {{ info.version }}</title>
<style>
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 50rem; margin: 0 auto; padding: 1rem; }
code, pre { font-family: ui-monospace, monospace; font-size: .9em; }
pre { overflow-x: auto; padding: .5rem; border: 1px solid; border-radius: .3rem; }
table { border-collapse: collapse; } td, th { padding: .1rem .6rem .1rem 0; text-align: left; vertical-align: top; }
</style></head><body>
<h1>{{ info.title }} {{ info.version }}</h1>
<p>{{ info.description }} The schema for programs is <a href="openapi.json">openapi.json</a>.</p>
{% for route in routes %}
<h2><code>{{ route.method }} {{ route.path }}</code></h2>
<p>{{ route.description }}</p>
{% if route.fields %}
<table><tr><th>field</th><th>type</th><th></th></tr>
{% for field in route.fields %}<tr><td><code>{{ field.name }}</code></td><td>{{ field.type }}</td>\
<td>{{ field.meaning }}</td></tr>
{% endfor %}</table>
{% endif %}
{% if route.example %}\
<pre>curl -s $SERVER{{ route.path }} -H 'Content-Type: application/json' -d '{{ route.example }}'</pre>\
{% endif %}
{% endfor %}
</body></html>
"""


def reference_page(schema: Mapping[str, Any]) -> str:
    """Return the page of an OpenAPI schema."""
    environment = Environment(autoescape=True, undefined=StrictUndefined)
    routes = [
        _route(schema, path, method, operation)
        for path, methods in schema["paths"].items()
        for method, operation in methods.items()
    ]
    return environment.from_string(PAGE).render(info=schema["info"], routes=routes)


def _route(schema: Mapping[str, Any], path: str, method: str, operation: Mapping[str, Any]) -> dict[str, Any]:
    body = operation.get("requestBody")
    request = _resolved(schema, body["content"]["application/json"]["schema"]) if body else {}
    required = request.get("required", [])
    return {
        "path": path,
        "method": method.upper(),
        "description": operation.get("description", ""),
        "fields": [
            {
                "name": name,
                "type": describe_type(_resolved(schema, field)),
                "meaning": field.get("description", "required" if name in required else ""),
            }
            for name, field in request.get("properties", {}).items()
        ],
        "example": json.dumps(request["examples"][0]) if request.get("examples") else None,
    }


def _resolved(schema: Mapping[str, Any], field: Mapping[str, Any]) -> Mapping[str, Any]:
    if "$ref" not in field:
        return field
    found: Mapping[str, Any] = schema["components"]["schemas"][field["$ref"].rsplit("/", 1)[1]]
    return found


def describe_type(field: Mapping[str, Any]) -> str:
    """Return a JSON schema's type in words.

    >>> describe_type({"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]})
    'list of string, or nothing'
    """
    if "anyOf" in field:
        kinds = [describe_type(option) for option in field["anyOf"]]
        named = " or ".join(dict.fromkeys(kind for kind in kinds if kind != "null"))
        return f"{named}, or nothing" if "null" in kinds else named
    if field.get("type") == "array":
        return f"list of {describe_type(field['items'])}" if "items" in field else "list"
    if field.get("type") == "object":
        values = field.get("additionalProperties")
        return f"object of {describe_type(values)}" if isinstance(values, Mapping) else "object"
    return str(field.get("type", "anything"))
