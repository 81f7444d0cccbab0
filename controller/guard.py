"""The outermost loop of this program's threads: no error of ours ends one of them."""

import logging
from collections.abc import Callable
from typing import Final

from prometheus_client import Counter

_LOG: Final = logging.getLogger(__name__)


def guarded(act: Callable[[], bool], faults: Counter) -> bool:
    """Whether a round did all it should; false, logged and counted, if it ended in an error."""
    try:
        return act()
    except Exception:  # noqa: BLE001 - the outermost loop of this program
        faults.inc()
        _LOG.exception("round failed")
        return False
