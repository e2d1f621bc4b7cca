"""How far a rate that was counted may be from the true one. Needs nothing beside Python, as the record's page."""

from collections.abc import Callable
from math import comb


def at_most(count: int, of: int, share: float) -> float:
    """Probability of at most so many of them."""
    return sum(comb(of, k) * share**k * (1 - share) ** (of - k) for k in range(count + 1))


def bisected(is_below: Callable[[float], bool]) -> float:
    """Where a condition that holds at 0 ceases to hold."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if is_below(middle) else (low, middle)
    return low


def interval(count: int, of: int) -> tuple[float, float]:
    """Clopper and Pearson's for the rate, at 95 %."""
    low = bisected(lambda p: 1 - at_most(count - 1, of, p) < 0.025) if count else 0.0
    high = bisected(lambda p: at_most(count, of, p) > 0.025) if count < of else 1.0
    return low, high


def share(count: int, of: int) -> str:
    """With its interval."""
    if of == 0:
        return "none"
    low, high = interval(count, of)
    return f"{count} of {of} = {count / of:.1%} [{low:.1%}, {high:.1%}]"
