"""A live cluster, found as kubectl finds it, and asked for no more than the command shows."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final
from urllib.parse import quote

from podrail.evidence import cluster, noderails
from podrail.evidence.atlas import Said, Unused
from podrail.evidence.cluster import Resources
from podrail.topology import Evidence, Topology
from podrail_io.kube import Api, Document, StatusError, UnreachableError

KUBECONFIG: Final = Path("~/.kube/config")
NODES: Final = "/api/v1/nodes"
RAILS: Final = f"/apis/{noderails.API_VERSION}/noderails"
SLICES: Final = tuple(
    f"/apis/resource.k8s.io/{version}/resourceslices" for version in ("v1", "v1beta2", "v1beta1")
)
COUNTS: Final = "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies"
_NOT_FOUND: Final = 404


def connect(kubeconfig: str | None, server: str) -> Api:
    """The API server of a URL, of a kubeconfig file (~/.kube/config), or of the cluster around.

    Raises:
        UnreachableError: none of these leads to one.
    """
    path = KUBECONFIG.expanduser() if kubeconfig is None else Path(kubeconfig)
    if not (kubeconfig or server or path.is_file() or Api.in_cluster()):
        raise UnreachableError(
            f"no cluster around: expected {KUBECONFIG}, $KUBECONFIG, --kubeconfig or --server"
        )
    return Api.connect(path if kubeconfig is not None or path.is_file() else None, server)


def node(api: Api, name: str, counted: Resources) -> Said:
    """What the API server has of a node.

    Raises:
        StatusError: there is no such node, or nobody may see it.
        UnreachableError: there was no usable answer.
    """
    at = quote(name, safe="")
    document = api.get(f"{NODES}/{at}")
    rails = _first(api, Evidence.NODERAILS, [f"{RAILS}/{at}"])
    listed = _first(api, Evidence.DRA, SLICES, {"fieldSelector": f"spec.nodeName={name}"})
    count = _first(api, Evidence.NRT, [f"{COUNTS}/{at}"])
    return Said(
        cluster.labels(document),
        cluster.node_rails(rails) if isinstance(rails, dict) else rails,
        _slices(listed, name) if isinstance(listed, dict) else listed,
        cluster.node_count(count, counted) if isinstance(count, dict) else count,
    )


def _slices(listed: Document, name: str) -> Topology | Unused | None:
    # Items of the API server's own kinds do not say what they are.
    items = ({"kind": cluster.SLICE, **one} for one in listed.get("items") or ())
    return cluster.node_slices(items).get(name)


def _first(
    api: Api, evidence: Evidence, paths: Sequence[str], query: dict[str, str] | None = None
) -> Document | Unused | None:
    """The first of these objects that there is; None if there is none."""
    for path in paths:
        try:
            return api.get(path, query)
        except StatusError as error:
            if error.status != _NOT_FOUND:
                return Unused(evidence, f"the API server keeps it: {error}", broken=True)
    return None
