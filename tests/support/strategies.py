"""Random documents, pods and networks annotations for the laws."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

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
    st.sampled_from(["/data", "/etc", "/etc/nccl.conf", "/dev/shm"]).map(
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
