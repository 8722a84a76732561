"""Multi-label tables in Weka's ARFF, dense or sparse, with Mulan's list of labels in XML."""

from __future__ import annotations

import csv
import math
import os
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from gossamer.data.arrays import LabelledArrays
from gossamer.data.text_files import FilePath, check_exists, file_name, read_lines

_ATTRIBUTE = re.compile(
    r"""@attribute\s+ (?: '(?P<single>(?:[^'\\]|\\.)*)' | "(?P<double>(?:[^"\\]|\\.)*)" | (?P<plain>[^\s{'"]+) )
        \s* (?P<type>.+)""",
    re.IGNORECASE | re.VERBOSE,
)
LARGEST = float(np.finfo(np.float32).max)
_NUMERIC = ("numeric", "real", "integer")


@dataclass(frozen=True)
class Attribute:
    """One column: numeric, or nominal with the number that stands for each value."""

    name: str
    numbers: dict[str, float] | None

    @property
    def default(self) -> float:
        """What a sparse row leaves out: zero, and for a nominal attribute its first value."""
        return 0.0 if self.numbers is None else next(iter(self.numbers.values()))


def read_multilabel(
    source: FilePath, *, labels: FilePath | Sequence[str] | int, encoding: str = "utf-8"
) -> LabelledArrays:
    """Read an ARFF file into inputs (N, F) float32 and 0/1 targets (N, L) uint8.

    `labels` says which attributes are targets: Mulan's XML file, their names, or how many of the last attributes.
    Targets keep the order of that list. A nominal attribute becomes the number it is written as, or, where its
    values are not numbers, the position of the value in the attribute's declaration. Missing values ("?") are
    refused, as no model here takes them.
    """
    name = file_name(source)
    lines = read_lines(source, encoding=encoding)
    attributes = _read_header(name, lines)
    table = _read_rows(name, lines, attributes)
    names = [attribute.name for attribute in attributes]
    targets = _target_names(labels, names, name)
    columns = [names.index(target) for target in targets]
    chosen = set(columns)
    inputs = [column for column in range(len(names)) if column not in chosen]
    values = table[:, columns]
    if not np.isin(values, (0.0, 1.0)).all():
        row, column = np.argwhere(~np.isin(values, (0.0, 1.0)))[0]
        raise ValueError(
            f"{name} must have labels 0 or 1, got {values[row, column]} for {targets[column]!r} in row {row}"
        )
    return LabelledArrays(
        table[:, inputs],
        values.astype(np.uint8),
        input_names=tuple(names[column] for column in inputs),
        target_names=tuple(targets),
    )


def read_label_names(source: FilePath) -> list[str]:
    """Read the label names of Mulan's XML (`<labels><label name="…"/>…</labels>`)."""
    name = file_name(source)
    try:
        root = ElementTree.fromstring(check_exists(source).read_bytes())
    except (ElementTree.ParseError, LookupError, ValueError) as fault:
        raise ValueError(f"{name} must be Mulan's label XML, got: {fault}") from None
    names = [element.get("name") or "" for element in root.iter() if element.tag.rpartition("}")[2] == "label"]
    if not names or "" in names:
        raise ValueError(f'{name} must list <label name="…"> elements, got {len(names)}')
    return names


def _read_header(name: str, lines: Iterator[tuple[int, str]]) -> list[Attribute]:
    attributes: list[Attribute] = []
    for number, line in lines:
        text = line.strip()
        keyword = text.split(maxsplit=1)[0].lower() if text else ""
        if keyword == "@data":
            if not attributes:
                raise ValueError(f"{name}, line {number} must follow @attribute lines, got @data first")
            repeated = len(attributes) - len({attribute.name for attribute in attributes})
            if repeated:
                raise ValueError(f"{name} must name each attribute once, got {repeated} repeated names")
            return attributes
        if keyword == "@attribute":
            attributes.append(_parse_attribute(f"{name}, line {number}", text))
        elif text and not text.startswith("%") and keyword != "@relation":
            raise ValueError(f"{name}, line {number} must be @relation, @attribute or @data, got {text[:60]!r}")
    raise ValueError(f"{name} must have a @data line, got none; is it an ARFF file?")


def _parse_attribute(place: str, text: str) -> Attribute:
    match = _ATTRIBUTE.fullmatch(text)
    if match is None:
        raise ValueError(f"{place} must be '@attribute name type', got {text[:60]!r}")
    quoted = match["single"] if match["single"] is not None else match["double"]
    label = match["plain"] if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
    kind = match["type"].strip()
    if kind.lower() in _NUMERIC:
        return Attribute(label, None)
    if kind.startswith("{") and kind.endswith("}"):
        values = _fields(place, kind[1:-1])
        numbers = [_number(value) for value in values]
        if any(math.isnan(number) for number in numbers):
            numbers = [float(position) for position in range(len(values))]
        return Attribute(label, dict(zip(values, numbers, strict=True)))
    raise ValueError(f"{place} must be numeric or a list of values {{a,b}}, got {kind[:40]!r} for {label!r}")


def _fields(place: str, text: str) -> list[str]:
    quote = "'" if "'" in text else '"'
    try:
        fields = next(csv.reader([text], quotechar=quote, escapechar="\\", skipinitialspace=True, strict=True))
    except (csv.Error, StopIteration):
        raise ValueError(f"{place} must be values separated by commas, got {text[:60]!r}") from None
    return [field.strip() for field in fields]


def _number(text: str) -> float:
    """Return a finite number, NaN for anything else."""
    try:
        value = float(text)
    except ValueError:
        return math.nan
    return value if abs(value) <= LARGEST and "_" not in text else math.nan


def _read_rows(name: str, lines: Iterator[tuple[int, str]], attributes: Sequence[Attribute]) -> np.ndarray:
    defaults = np.array([attribute.default for attribute in attributes], dtype=np.float32)
    rows = []
    for number, line in lines:
        text = line.strip()
        if not text or text.startswith("%"):
            continue
        place = f"{name}, line {number}"
        if text.startswith("{"):
            row = defaults.copy()
            for column, value in _sparse_entries(place, text, len(attributes)):
                row[column] = _value(place, attributes[column], value)
        else:
            fields = _fields(place, text)
            if len(fields) != len(attributes):
                raise ValueError(f"{place} must have {len(attributes)} values, got {len(fields)}")
            row = np.array([_value(place, *pair) for pair in zip(attributes, fields, strict=True)], dtype=np.float32)
        rows.append(row)
    if not rows:
        raise ValueError(f"{name} must have at least one row below @data, got none")
    return np.stack(rows)


def _sparse_entries(place: str, text: str, count: int) -> Iterator[tuple[int, str]]:
    if not text.endswith("}"):
        raise ValueError(f"{place} must close its sparse row with '}}', got {text[-20:]!r}")
    body = text[1:-1].strip()
    for entry in _fields(place, body) if body else []:
        column, _, value = entry.partition(" ")
        if not (column.isascii() and column.isdigit() and len(column) < 10 and int(column) < count):
            raise ValueError(
                f"{place} must have entries 'column value' with columns 0 … {count - 1}, got {entry[:40]!r}"
            )
        yield int(column), value.strip().strip("'\"")


def _value(place: str, attribute: Attribute, text: str) -> float:
    known = attribute.numbers
    number = _number(text)
    if known is None and not math.isnan(number):
        return number
    if known is not None:
        if text in known:
            return known[text]
        if any(_number(value) == number == known[value] for value in known):
            return number  # "1.0" where the declaration says {0,1}
    wanted = "a finite number" if known is None else f"one of {', '.join(list(known)[:10])}"
    raise ValueError(f"{place}: {attribute.name} must be {wanted}, got {text[:40]!r}")


def _target_names(labels: FilePath | Sequence[str] | int, names: Sequence[str], name: str) -> list[str]:
    if isinstance(labels, int):
        if not 0 < labels < len(names):
            raise ValueError(f"labels must be between 1 and {len(names) - 1} of the last attributes, got {labels}")
        return list(names[-labels:])
    listed = read_label_names(labels) if isinstance(labels, str | os.PathLike) else list(labels)
    unknown = next((label for label in listed if label not in names), None)
    if unknown is not None or len(set(listed)) != len(listed) or not listed:
        raise ValueError(f"labels must be different attributes of {name}, got {unknown if unknown else listed!r}")
    return listed
