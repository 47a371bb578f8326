"""Conversion of values to those that JSON can represent."""

import math
from collections.abc import Mapping
from typing import Any


def finite_values(value: Any) -> Any:
    """Return a document with only finite numbers; others become None, which is null in the file.

    Args:
        value: Mappings, lists, tuples, strings, numbers and None, nested.

    Returns:
        The same with mappings as dictionaries, tuples as lists, and keys as strings.
    """
    if isinstance(value, Mapping):
        return {str(key): finite_values(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite_values(item) for item in value]
    if isinstance(value, float):  # numpy's float64 is one
        return float(value) if math.isfinite(value) else None
    return value
