"""How far apart two sets of outputs are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np


def compare_outputs(expected_path: str, actual_path: str) -> list[dict[str, Any]]:
    """One entry per output of two ``.npz`` files: ``max_abs``, ``max_rel`` (to the largest magnitude), ``cosine``."""
    import numpy as np

    with np.load(expected_path) as expected, np.load(actual_path) as actual:
        return [{"name": name, **difference(expected[name], actual[name])} for name in expected.files]


def difference(expected: np.ndarray, actual: np.ndarray) -> dict[str, Any]:
    """Differences of two arrays in float64; places where both are NaN, or the same infinity, agree.

    The cosine of two zero vectors is 1. Everything is inf, and the cosine NaN, when only one has a
    NaN in some place.
    """
    import numpy as np

    facts: dict[str, Any] = {"dtype": str(expected.dtype), "shape": list(expected.shape)}
    if expected.shape != actual.shape or expected.dtype != actual.dtype:
        facts["mismatch"] = f"{actual.dtype}{list(actual.shape)}"
        return {**facts, "max_abs": float("inf"), "max_rel": float("inf"), "cosine": float("nan")}
    if expected.dtype.kind not in "fiub":
        equal = bool((expected == actual).all())
        return {**facts, "max_abs": 0.0 if equal else float("inf"), "max_rel": 0.0, "cosine": 1.0}
    left, right = expected.astype(np.float64).ravel(), actual.astype(np.float64).ravel()
    same = (left == right) | (np.isnan(left) & np.isnan(right))
    left, right = np.where(same & ~np.isfinite(left), 0.0, left), np.where(same & ~np.isfinite(right), 0.0, right)
    with np.errstate(invalid="ignore"):
        error = np.abs(left - right).max(initial=0.0)
    largest = np.abs(left).max(initial=0.0)
    error = float("inf") if np.isnan(error) else float(error)
    norms = float(np.linalg.norm(left) * np.linalg.norm(right))
    cosine = float(left @ right) / norms if norms else float(not left.any() and not right.any())
    return {**facts, "max_abs": error, "max_rel": error / max(float(largest), 1e-9), "cosine": cosine}
