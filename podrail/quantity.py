"""Resource quantities (k8s.io/apimachinery/pkg/api/resource, v0.36): whole numbers of devices."""

import re
from fractions import Fraction
from typing import Final

from podrail.reading import shown

_QUANTITY: Final = re.compile(
    r"([+-]?(?:[0-9]{1,30}(?:\.[0-9]{0,30})?|\.[0-9]{1,30}))([a-zA-Z]{0,2}|[eE][+-]?[0-9]{1,2})"
)
_SHORT: Final = 15
_SUFFIXES: Final[dict[str, Fraction]] = {
    "": Fraction(1),
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    **{suffix: Fraction(1000**power) for power, suffix in enumerate("kMGTPE", 1)},
    **{f"{suffix}i": Fraction(1024**power) for power, suffix in enumerate("KMGTPE", 1)},
}


def whole(value: object) -> int:
    """The count of devices in a quantity such as "8", 8 or "1k".

    Raises:
        ValueError: not a quantity, negative, or not a whole number.
    """
    if type(value) is str and value.isascii() and value.isdigit() and len(value) <= _SHORT:
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        value = shown(value)
    match = _QUANTITY.fullmatch(str(value))
    factor = _factor(match[2]) if match else None
    if match is None or factor is None:
        raise ValueError(f"expected a quantity, got {str(value)[:40]!r}")
    amount = Fraction(match[1].rstrip(".")) * factor
    if amount < 0 or amount.denominator != 1:
        raise ValueError(f"expected a whole number of devices, got {str(value)[:40]!r}")
    return int(amount)


def count(value: object) -> int:
    """The count of devices in a quantity; 0 for what is none."""
    try:
        return whole(value)
    except ValueError:
        return 0


def same(one: object, other: object) -> bool:
    """True if both are the same amount, however spelled: the API server writes 5120Mi as 5Gi."""
    try:
        return whole(one) == whole(other)
    except ValueError:
        return False


def _factor(suffix: str) -> Fraction | None:
    if suffix[:1] in {"e", "E"} and suffix[1:].lstrip("+-").isdigit():
        return Fraction(10) ** int(suffix[1:])
    return _SUFFIXES.get(suffix)
