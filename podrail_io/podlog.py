"""What a container has written, as the API server hands it out: text, not JSON."""

from urllib.parse import quote

from urllib3 import Timeout
from urllib3.exceptions import HTTPError

from podrail_io import unanswered
from podrail_io.kube import CONNECT_SECONDS, Api, UnreachableError

MOST_BYTES = 4 * 1024 * 1024


def read(api: Api, namespace: str, pod: str, seconds: float = 30) -> str:
    """The log of a pod with one container.

    Raises:
        StatusError: there is none, or nobody may see it.
        UnreachableError: there was no usable answer.
    """
    at = f"/api/v1/namespaces/{quote(namespace, safe='')}/pods/{quote(pod, safe='')}/log"
    timeout = Timeout(total=seconds, connect=CONNECT_SECONDS)
    target = f"{at}?limitBytes={MOST_BYTES}"
    response = api._call("GET", target, None, timeout)  # noqa: SLF001 - one door in two files
    try:
        return response.data.decode("utf-8", "replace")
    except (HTTPError, OSError) as error:
        raise UnreachableError(f"GET {at}: {unanswered.why(error)}") from error
