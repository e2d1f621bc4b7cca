"""What the native library writes as JSON, as Python has it."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["with_arrays"]


def with_arrays(document: Any) -> Any:
    """The same with NumPy arrays where the native library wrote serialised ones."""
    if isinstance(document, dict):
        if document.keys() == {"v", "dim", "data"}:
            return np.array(document["data"]).reshape(document["dim"])
        return {key: with_arrays(value) for key, value in document.items()}
    if isinstance(document, list):
        return [with_arrays(value) for value in document]
    return document
