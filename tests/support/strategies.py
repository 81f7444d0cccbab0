"""Random documents, pods and networks annotations for the laws."""

from __future__ import annotations

import json
from typing import Any

import builders
from hypothesis import strategies as st

from podrail.fabric import Profile
from podrail.multus import dialect

SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.text("ab~/é", max_size=3)
DOCUMENTS = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text("ab~/", max_size=2), inner, max_size=3)
    ),
    max_leaves=8,
)

LABELS = st.sampled_from(["a", "b-1", "rail0", "rail1", "rdma-vf"])
INTERFACES = st.sampled_from(["", "net1", "rail0", "rail0a", "IB_0", "x"])


@st.composite
def short_elements(draw: st.DrawFn) -> str:
    """An element of the short form."""
    namespace = draw(st.sampled_from(["", "default/", "team/", " default / "]))
    interface = draw(INTERFACES)
    return namespace + draw(LABELS) + (f"@{interface}" if interface else "")


@st.composite
def json_elements(draw: st.DrawFn) -> dict[str, Any]:
    """An element of the JSON form, with odd cases of keys and keys that nobody knows."""
    keys = st.sampled_from(["name", "Name"])
    element: dict[str, Any] = {draw(keys): draw(LABELS)}
    if draw(st.booleans()):
        element["namespace"] = draw(st.sampled_from(["default", "team"]))
    if draw(st.booleans()):
        element["interface"] = draw(INTERFACES)
    if draw(st.booleans()):
        element["x-unknown"] = draw(SCALARS)
    return element


SHORT = st.lists(short_elements(), min_size=1, max_size=4).map(",".join)
JSON = st.lists(json_elements(), max_size=4).map(lambda elements: json.dumps(elements, indent=1))
ANNOTATIONS = st.none() | SHORT | JSON
GKE = st.lists(
    st.builds(
        lambda network, interface: {"interfaceName": interface, "network": network},
        LABELS,
        INTERFACES,
    ),
    max_size=3,
).map(json.dumps)
VOLCENGINE = st.lists(LABELS.map(lambda name: {"cniConf": {"name": name}}), max_size=3).map(
    json.dumps
)

ENV_NAMES = st.sampled_from(
    ["NCCL_IB_HCA", "GLOO_SOCKET_IFNAME", "NCCL_IB_PCI_RELAXED_ORDERING", "PATH"]
)
ENVS = st.lists(
    st.builds(
        lambda name, value: {"name": name, "value": value}, ENV_NAMES, st.text("x0", max_size=2)
    ),
    max_size=3,
    unique_by=lambda entry: entry["name"],
)
MOUNTS = st.lists(
    st.sampled_from(["/data", "/etc", "/etc/nccl.conf", "/opt", "/dev/shm"]).map(
        lambda path: {"name": "user", "mountPath": path}
    ),
    max_size=2,
)
COUNTS = st.dictionaries(
    st.sampled_from(["nvidia.com/rail0", "nvidia.com/rail5", "nvidia.com/rdma-vf", "cpu"]),
    st.integers(0, 3).map(str),
    max_size=3,
)


@st.composite
def containers(draw: st.DrawFn, name: str, gpus: int) -> dict[str, Any]:
    """A container whose requests, where it has them, equal its limits."""
    limits = {**draw(COUNTS), **({"nvidia.com/gpu": str(gpus)} if gpus else {})}
    resources: dict[str, Any] = {"limits": limits}
    if draw(st.booleans()):
        resources["requests"] = dict(limits)
    container: dict[str, Any] = {"name": name, "resources": resources}
    for field, strategy in (("env", ENVS), ("volumeMounts", MOUNTS)):
        if draw(st.booleans()):
            container[field] = draw(strategy)
    return container


@st.composite
def pods(draw: st.DrawFn) -> dict[str, Any]:
    """A pod with one container that may have GPUs, and what users write around it."""
    gpus = draw(st.sampled_from([0, 1, 2, 4, 8]))
    spec: dict[str, Any] = {"containers": [draw(containers("train", gpus))]}
    if draw(st.booleans()):
        spec["containers"].insert(draw(st.integers(0, 1)), draw(containers("side", 0)))
    if draw(st.booleans()):
        spec["initContainers"] = [{**draw(containers("init", 0)), "restartPolicy": "Always"}]
    if draw(st.booleans()):
        spec["volumes"] = [{"name": "user", "emptyDir": {}}]
    spec |= draw(
        st.fixed_dictionaries(
            {}, optional={"hostNetwork": st.booleans(), "schedulerName": st.just("mine")}
        )
    )
    annotations: dict[str, str] = draw(
        st.dictionaries(st.just("note"), st.text("ab", max_size=2), max_size=1)
    )
    networks = draw(ANNOTATIONS)
    if networks is not None:
        annotations["k8s.v1.cni.cncf.io/networks"] = networks
    for key, others in ((dialect.GKE_KEY, GKE), (dialect.VOLCENGINE_KEY, VOLCENGINE)):
        if draw(st.booleans()):
            annotations[key] = draw(others)
    absent = draw(st.sampled_from([True, False]))
    metadata: dict[str, Any] = {"name": "p", "labels": {"podrail.dev/fabric": "any"}}
    if annotations or not absent:
        metadata["annotations"] = annotations or None
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": spec,
        "x-new-field": [1, None],
    }


LATE: dict[str, Any] = {"late": [{"when": {"label": {"zone": "a"}}, "value": "2"}]}
RESOURCES: list[dict[str, Any]] = [
    {"name": "nvidia.com/rail0", "rail": 0},
    {"name": "nvidia.com/rdma-vf", "count": {"per": "GPU", "value": 2}},
    {"name": "nvidia.com/rail5", "count": {"per": "Node", "value": 3}},
    {"name": "hugepages-2Mi", "count": {"per": "Pod", "value": "64Mi"}},
]
SETTINGS: list[dict[str, Any]] = [
    {"name": "NCCL_IB_HCA", "value": "mlx5"},
    {"name": "NCCL_IB_TC", "value": "1", **LATE},
    {"name": "NCCL_IB_PCI_RELAXED_ORDERING", "value": "1", "carrier": "env", **LATE},
    {"name": "GLOO_SOCKET_IFNAME", "value": "eth0", "carrier": "env"},
]
CONF_FILES = ["/etc/nccl.conf", "/etc/rccl.conf", "/opt/podrail/nccl.conf"]


def some(listed: list[dict[str, Any]]) -> st.SearchStrategy[list[dict[str, Any]]]:
    """A few of the entries, each once."""
    return st.lists(st.sampled_from(listed), max_size=4, unique_by=lambda one: one["name"])


@st.composite
def profile_networks(draw: st.DrawFn, dialect: str, count: int) -> list[dict[str, Any]]:
    """A network for each rail, or one for all of them."""
    place = "default/" if dialect == "Multus" else ""
    networks: list[dict[str, Any]] = [
        {"name": f"{place}rail{rail}", "rail": rail} for rail in range(count)
    ]
    if draw(st.booleans()):
        repeat = draw(st.integers(1, 3))
        networks = [{"name": f"{place}rdma-vf", "interface": "vf", "repeat": repeat}]
    if dialect == "Multus" and draw(st.booleans()):
        networks[0]["cniArgs"] = {"nics": 1}
    return networks


@st.composite
def fabrics(draw: st.DrawFn) -> Profile:
    """A profile with any combination of what profiles can say."""
    count = draw(st.sampled_from([1, 2, 4]))
    words = draw(st.sampled_from(["Multus", "GKE", "Volcengine"]))
    return builders.fabric(
        attachment=draw(st.sampled_from(["SriovVF", "SharedDevice", "HostDevice", "IPoIB"])),
        dialect=words,
        rails={"count": count, "gpus": draw(st.sampled_from([4, 8]))},
        networks=draw(profile_networks(words, count)),
        resources=draw(some(RESOURCES)),
        requestedBy=draw(st.sampled_from(["Podrail", "Injector"])),
        partial=draw(st.sampled_from(["AllRails", "SameNuma", "Proportional"])),
        settings=draw(some(SETTINGS)),
        confFile=draw(st.sampled_from(CONF_FILES)),
        extras={
            "ipcLock": draw(st.booleans()),
            "shmSize": draw(st.sampled_from([None, "1Gi"])),
            "schedulerName": "podrail",
        },
    )


def any_fabric() -> st.SearchStrategy[Profile]:
    """A shipped profile, or one with any combination of what profiles can say.

    Not one with claims: those want pods that say how many GPUs they claim.
    """
    plain = [one for one in builders.shipped().values() if one.claim is None]
    return st.sampled_from(plain) | fabrics()
