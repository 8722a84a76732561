"""Result records or arrays → figures and one self-contained HTML page."""

from gossamer.report.blocks import Drawing, Estimate, Facts, Figure, Fold, Hit, KeyNumbers, Section, Table, Text
from gossamer.report.data_summary import data_section
from gossamer.report.models import Example, ModelResult, models_report
from gossamer.report.page import Report, render, write_report

__all__ = [
    "Drawing",
    "Estimate",
    "Example",
    "Facts",
    "Figure",
    "Fold",
    "Hit",
    "KeyNumbers",
    "ModelResult",
    "Report",
    "Section",
    "Table",
    "Text",
    "data_section",
    "models_report",
    "render",
    "write_report",
]
