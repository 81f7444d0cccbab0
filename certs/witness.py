"""What the replicas of the webhook really serve: each endpoint of its Service is asked by TLS.

A rotation that was written is not one that was taken over (cert-manager #6624), so nobody's CA is
dropped on the word of the Secret. Who refuses a connection serves nothing; who is silent may.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final

from certs.scene import Certificates, Sight
from certs.vault import REQUEST_SECONDS
from podrail_io import tls
from podrail_io.kube import Api

ANSWER_SECONDS: Final = 2.0
"""How long one replica may take."""
ALL_SECONDS: Final = 10.0
"""How long they may take together; the rest is hardly waited for."""
LEAST_SECONDS: Final = 0.01


class Witness:
    """The endpoints of one Service."""

    def __init__(
        self, api: Api, service: tuple[str, str], host: str, clock: Callable[[], float]
    ) -> None:
        namespace, name = service
        self._api = api
        self._path = f"/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices"
        self._query = {"labelSelector": f"kubernetes.io/service-name={name}"}
        self._host = host
        self._clock = clock

    def look(self) -> Sight:
        """What all of them serve now; raises as Api.get."""
        found = self._api.get(self._path, self._query, REQUEST_SECONDS)
        end = self._clock() + ALL_SECONDS
        seen: Certificates = ()
        unseen = 0
        for address in _addresses(found.get("items") or ()):
            left = min(ANSWER_SECONDS, end - self._clock())
            try:
                seen = (*seen, tls.leaf_of(address, self._host, max(left, LEAST_SECONDS)))
            except ConnectionRefusedError:
                continue
            except (OSError, ValueError):
                unseen += 1
        return Sight(seen, unseen)


def _addresses(slices: Any) -> Iterator[tuple[str, int]]:
    """Every endpoint, ready or not: the API server may have a connection to any."""
    for one in slices:
        ports = [port["port"] for port in one.get("ports") or () if port.get("port")]
        for endpoint in one.get("endpoints") or ():
            for port in ports[:1]:
                yield endpoint["addresses"][0], port
