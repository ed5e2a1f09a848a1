"""Checks of plain arguments, each failing with one sentence that repeats what was given."""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from settwister.errors import InputError, reason

LARGEST_WIDTH = 2**31 - 1


def whole_number(name: str, value: Any, *, least: int = 1, most: int = LARGEST_WIDTH) -> int:
    """``value`` as an int from ``least`` to ``most``; booleans and floats are refused."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InputError(f"{name} is {value!r}, expected a whole number of at least {least}")
    if value > most:
        raise InputError(f"{name} is {value}, expected at most {most}")
    return value


def widths(name: str, value: Any) -> tuple[int, ...]:
    """``value`` as a tuple of positive layer widths."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise InputError(f"{name} is {value!r}, expected a sequence of layer widths such as (60, 60)")
    return tuple(whole_number(f"{name}[{i}]", width) for i, width in enumerate(value))


def choice(name: str, value: Any, allowed: Iterable[Any]) -> Any:
    """``value``, which must be one of ``allowed``."""
    options = list(allowed)
    if not any(value is option or (type(value) is type(option) and value == option) for option in options):
        raise InputError(f"{name} is {value!r}, expected one of {', '.join(map(repr, options))}")
    return value


def flag(name: str, value: Any) -> bool:
    return bool(choice(name, value, (True, False)))


def probability(name: str, value: Any) -> float:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0 <= value < 1:
        raise InputError(f"{name} is {value!r}, expected a number from 0 up to, not including, 1")
    return float(value)


def tensor(name: str, given: Any) -> Tensor:
    """Anything that torch makes a tensor of."""
    try:
        found: Tensor = torch.as_tensor(given)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError(
            f"{name} is a {type(given).__name__} that torch makes no tensor of ({reason(error)}), expected numbers"
        ) from error
    return found
