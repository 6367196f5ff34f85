"""What is known of a law after the measurements: its shapes, each with a weight, coefficients and their uncertainty.

Shapes are tried twice, over the whole range of the law and then in the part of it where the evidence is, so a shape is
as exact as the measurements make it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tidegate.planner.evidence import Evidence
from tidegate.planner.laws import Ends, Law
from tidegate.planner.measurement import Array

#: shapes tried over the whole range of a law, and then where they matter
COARSE, FINE = 80, 120
#: difference in log evidence, and weight, from which on a shape does not matter
NEGLIGIBLE, NEGLIGIBLE_WEIGHT = 12.0, 1e-6


@dataclass(frozen=True, slots=True)
class LawPosterior:
    """The shapes of a law that matter, each with its weight, its coefficients and their uncertainty."""

    law: Law
    shapes: Array
    weights: Array
    coefficients: Array
    covariances: Array
    #: of another measurement around the law
    scatter: Array


def posterior(law: Law, ends: Ends, effective: Array, evidences: Sequence[Evidence]) -> LawPosterior:
    """With logarithms of weights, not yet normalised over the laws."""
    shapes = law.shapes(1) if law.low == law.high else _relevant(law, ends, effective, evidences)
    cell = 1.0 if law.low == law.high else float(shapes[1] - shapes[0]) / (law.high - law.low)
    curves = law.curve(shapes, effective, ends)
    conditionals = [evidence.given(curves) for evidence in evidences]
    pairs = list(zip(evidences, conditionals, strict=True))
    return LawPosterior(
        law=law,
        shapes=np.tile(shapes, len(pairs)),
        weights=np.concatenate([c.log_evidence for c in conditionals]) + math.log(law.share * cell),
        coefficients=np.concatenate([c.coefficients for c in conditionals]),
        covariances=np.concatenate([c.variances[:, None, None] * e.covariance for e, c in pairs]),
        scatter=np.concatenate([c.variances * (1 + e.unevenness.ratio) for e, c in pairs]),
    )


def _relevant(law: Law, ends: Ends, effective: Array, evidences: Sequence[Evidence]) -> Array:
    """Shapes in the part of a law's range where the evidence is, one coarse cell more on either side."""
    coarse = law.shapes(COARSE)
    curves = law.curve(coarse, effective, ends)
    evidence = np.max([e.given(curves).log_evidence for e in evidences], axis=0)
    matters = np.flatnonzero(evidence > evidence.max() - NEGLIGIBLE)
    cell = (law.high - law.low) / COARSE
    low, high = coarse[matters[0]] - 1.5 * cell, coarse[matters[-1]] + 1.5 * cell
    return law.shapes(FINE, max(law.low, low), min(law.high, high))


def normalised(posteriors: Sequence[LawPosterior]) -> tuple[LawPosterior, ...]:
    top = max(float(p.weights.max()) for p in posteriors)
    total = math.fsum(float(np.exp(p.weights - top).sum()) for p in posteriors)
    scaled = [replace(p, weights=np.exp(p.weights - top) / total) for p in posteriors]
    relevant = [_subset(p, p.weights > NEGLIGIBLE_WEIGHT) for p in scaled]
    rest = math.fsum(float(p.weights.sum()) for p in relevant)
    return tuple(replace(p, weights=p.weights / rest) for p in relevant if p.weights.size)


def _subset(p: LawPosterior, keep: NDArray[np.bool_]) -> LawPosterior:
    return replace(
        p,
        shapes=p.shapes[keep],
        weights=p.weights[keep],
        coefficients=p.coefficients[keep],
        covariances=p.covariances[keep],
        scatter=p.scatter[keep],
    )
