"""Whether a count model underfits, and why: pure functions of decoder, encoder and data (section 5.2 of the paper)."""

from gossamer.models.counts.diagnostics.jacobian import JacobianSpectrum, jacobian_spectrum, log_prob_jacobian
from gossamer.models.counts.diagnostics.rare_terms import RareTermGaps, find_rare_terms, rare_term_gaps
from gossamer.models.counts.diagnostics.schedules import ScheduleComparison, compare_schedules
from gossamer.models.counts.diagnostics.utilisation import (
    count_used,
    count_used_directions,
    document_singular_values,
    utilisation_curve,
)
from gossamer.models.counts.diagnostics.vocabulary_gain import PerplexityGain, gains_by_vocabulary, perplexity_gain

__all__ = [
    "JacobianSpectrum",
    "PerplexityGain",
    "RareTermGaps",
    "ScheduleComparison",
    "compare_schedules",
    "count_used",
    "count_used_directions",
    "document_singular_values",
    "find_rare_terms",
    "gains_by_vocabulary",
    "jacobian_spectrum",
    "log_prob_jacobian",
    "perplexity_gain",
    "rare_term_gaps",
    "utilisation_curve",
]
