"""What the health view asks that is not on the map: the webhook's certificate, profiles, the lease.

The webhook is asked by TLS, as the API server would reach it; what it shows is read, not verified:
podrail doctor says whether the API server trusts it.
"""

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Final

from podrail.railmap.health import Certificate
from podrail_io import tls
from podrail_io.kube import Document

ANSWER_SECONDS: Final = 2.0
GOOD_SECONDS: Final = 30.0
"""How long an answer is shown before the webhook is asked again."""


class Webhook:
    """The certificate that the webhook serves, as it was when last asked."""

    def __init__(self, address: tuple[str, int], clock: Callable[[], float]) -> None:
        self._address = address
        self._clock = clock
        self._lock = threading.Lock()
        self._asked: tuple[float, Certificate] | None = None

    def certificate(self) -> Certificate:
        """The certificate, or why there is none."""
        with self._lock:
            if self._asked is None or self._clock() - self._asked[0] >= GOOD_SECONDS:
                self._asked = (self._clock(), self._ask())
            return self._asked[1]

    def _ask(self) -> Certificate:
        host, port = self._address
        place = f"the webhook at {host}:{port}"
        try:
            leaf = tls.leaf_of(self._address, host, ANSWER_SECONDS)
        except (OSError, ValueError) as error:
            return Certificate(place, problem=f"it shows none: {error}")
        valid = (leaf.not_valid_before_utc.timestamp(), leaf.not_valid_after_utc.timestamp())
        return Certificate(place, *valid)


def ready(profiles: Mapping[str, Document]) -> Mapping[str, int]:
    """How many FabricProfiles there are by the status of their condition Ready."""
    return Counter(
        str(one.get("status", "Unknown"))
        for document in profiles.values()
        for one in (document.get("status") or {}).get("conditions") or ()
        if one.get("type") == "Ready"
    )
