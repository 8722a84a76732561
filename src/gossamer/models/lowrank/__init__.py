"""Low-rank compression of trained networks under a stated budget (COBLA)."""

from gossamer.models.lowrank.answers import ByAnswers, class_distance
from gossamer.models.lowrank.attempts import ALLOCATORS
from gossamer.models.lowrank.budget import Budget
from gossamer.models.lowrank.classifier import CompressedClassifier
from gossamer.models.lowrank.compression import compress
from gossamer.models.lowrank.fine_tuning import fine_tune
from gossamer.models.lowrank.finishing import fold_norms
from gossamer.models.lowrank.language_model import CompressedLanguageModel
from gossamer.models.lowrank.pruning import prune
from gossamer.models.lowrank.recalibration import recalibrate_
from gossamer.models.lowrank.report import CompressionReport, LayerChange
from gossamer.models.lowrank.search import SearchSettings
from gossamer.models.lowrank.storage import load_compressed, save_compressed

ESTIMATORS: dict[str, type] = {
    "compressed-classifier": CompressedClassifier,
    "compressed-language-model": CompressedLanguageModel,
}

__all__ = [
    "ALLOCATORS",
    "ESTIMATORS",
    "Budget",
    "ByAnswers",
    "CompressedClassifier",
    "CompressedLanguageModel",
    "CompressionReport",
    "LayerChange",
    "SearchSettings",
    "class_distance",
    "compress",
    "fine_tune",
    "fold_norms",
    "load_compressed",
    "prune",
    "recalibrate_",
    "save_compressed",
]
