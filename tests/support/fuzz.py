"""How many random examples a test tries: few in every run, twenty times as many in `make fuzz`."""

from __future__ import annotations

import os
from typing import Final

from hypothesis import settings

TIMES: Final = int(os.environ.get("PODRAIL_FUZZ", "1"))  # noqa: TID251 - make sets it


def examples(number: int) -> settings:
    """Settings for this many examples in an ordinary run."""
    return settings(max_examples=number * TIMES, deadline=None)
