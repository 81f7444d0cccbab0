"""What the cluster of a shipped profile's platform shows: nodes, networks, operators' objects.

Labels and counts are those of facts read on the platforms (2026); nothing here knows how podrail
drafts profiles.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from typing import Any

import builders
import nads

from podrail import profile
from podrail.discovery import survey as surveying
from podrail.discovery.draft import Discovery, Draft
from podrail.doctor.cluster import Cluster
from podrail.evidence import cluster as evidence
from podrail.evidence.atlas import Atlas
from podrail.evidence.cluster import Resources
from podrail.fabric import Attachment, Dialect, Network, Per, Profile
from podrail_cli import library

Document = dict[str, Any]

LABELS: Mapping[str, Mapping[str, str]] = {
    "ack": {"aliyun.accelerator/erdma": "true"},
    "akash": {"akash.network/role": "gpu"},
    "aks": {
        "kubernetes.azure.com/agentpool": "gpu",
        "node.kubernetes.io/instance-type": "Standard_ND96isr_H100_v5",
    },
    "amd": {"feature.node.kubernetes.io/amd-vnic": "true"},
    "coreweave": {"node.coreweave.cloud/type": "gd-8xh100ib-i128"},
    "eks": {"eks.amazonaws.com/nodegroup": "gpu"},
    "gke": {
        "cloud.google.com/gke-accelerator": "nvidia-h200-141gb",
        "node.kubernetes.io/instance-type": "a3-ultragpu-8g",
    },
    "ibm": {"autopilot.ibm.com/gpuhealth": "PASS"},
    "nebius": {"topology.nebius.com/nvl-instance-group-id": "1"},
    "oke": {"oci.oraclecloud.com/rdma.local_block_id": "b1"},
    "rhoai": {"node.openshift.io/os_id": "rhcos"},
}
"""By the first word of the profile's name."""
TYPES: Mapping[str, str] = {
    "eks-p4d": "p4d.24xlarge",
    "eks-p5": "p5.48xlarge",
    "eks-p5en": "p5en.48xlarge",
    "eks-p6-b200": "p6-b200.48xlarge",
    "oke-host": "BM.GPU.H100.8",
    "oke-vf-h100": "BM.GPU.H100.8",
    "oke-vf-h200": "BM.GPU.H200.8",
    "oke-vf-mi300x": "BM.GPU.MI300X.8",
}
_CHAINS: Mapping[Attachment, str] = {
    Attachment.SRIOV_VF: "sriov",
    Attachment.HOST_DEVICE: "host-device",
    Attachment.IPOIB: "ipoib",
    Attachment.SHARED_DEVICE: "macvlan",
}
TOKENS = 63
"""How many pods may share a device, as Mellanox's samples have it."""


def documents(fabric: Profile, nodes: int = 2) -> list[Document]:
    """The documents of a cluster with nodes like those of the profile's platform."""
    word = fabric.name.partition("-")[0]
    labels = {
        "feature.node.kubernetes.io/pci-0207_15b3.present": "true",
        **LABELS.get(word, {}),
        **(
            {"node.kubernetes.io/instance-type": TYPES[fabric.name]} if fabric.name in TYPES else {}
        ),
    }
    given = {fabric.gpu_resources[0]: str(fabric.rails.gpus), **counts(fabric)}
    return [
        *(node(f"gpu-{number}", labels, given) for number in range(nodes)),
        *networks(fabric),
    ]


def node(name: str, labels: Mapping[str, str], given: Mapping[str, str]) -> Document:
    """A node with labels and things to give."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": dict(labels)},
        "status": {"allocatable": {"cpu": "128", "memory": "1Ti", **given}},
    }


def counts(fabric: Profile) -> dict[str, str]:
    """What a node's device plugins give."""
    gpus = fabric.rails.gpus
    whole = {Per.RAIL: fabric.rails.count, Per.GPU: gpus, Per.NODE: 1, Per.FIXED: 1}
    shared = fabric.attachment in {Attachment.SHARED_DEVICE, Attachment.IPOIB, Attachment.ERDMA}
    found = {}
    for one in fabric.resources:
        if one.size:
            found[one.name] = "10Gi"
        elif shared:
            found[one.name] = str(TOKENS)
        else:
            found[one.name] = str(8 if one.rail is not None else whole[one.per] * one.value)
    return found


def networks(fabric: Profile) -> list[Document]:
    """The NetworkAttachmentDefinitions; GKE's are objects of its own, Volcengine has none."""
    if fabric.dialect is Dialect.GKE:
        return [
            {"apiVersion": "networking.gke.io/v1", "kind": "Network", "metadata": {"name": one.nad}}
            for one in fabric.networks
        ]
    if fabric.dialect is not Dialect.MULTUS:
        return []
    return [_network(fabric, one) for one in fabric.networks]


def _network(fabric: Profile, one: Network) -> Document:
    plugin = _CHAINS[fabric.attachment]
    if fabric.name == "ibm-vela":
        plugin = "multi-nic"
    elif "ipvlan" in one.nad:
        plugin = "ipvlan"
    elif "ib" in fabric.name and plugin == "sriov":
        plugin = "ib-sriov"
    of_rail: dict[int | None, str] = {
        each.rail: each.name for each in fabric.resources if each.rail is not None
    }
    resource = one.resource or of_rail.get(one.rail, "")
    fields = {"master": "ens1"} if plugin in {"macvlan", "ipvlan", "ipoib"} else {}
    config = nads.chain({"type": plugin, "ipam": nads.whereabouts(), **fields})
    return nads.document(one.nad, config, resource, one.namespace)


def policy(resource: str, *ports: str, **spec: Any) -> Document:
    """A SriovNetworkNodePolicy of the operator of OpenShift and NVIDIA."""
    return {
        "apiVersion": "sriovnetwork.openshift.io/v1",
        "kind": "SriovNetworkNodePolicy",
        "metadata": {"name": f"policy-{resource}", "namespace": "nvidia-network-operator"},
        "spec": {
            "resourceName": resource,
            "numVfs": 8,
            "isRdma": True,
            "nicSelector": {"vendor": "15b3", "pfNames": list(ports)},
            **spec,
        },
    }


def cluster_policy(**plugins: Any) -> Document:
    """A NicClusterPolicy whose device plugins have these configurations."""
    configured = {name: {"config": json.dumps(config)} for name, config in plugins.items()}
    return {
        "apiVersion": "mellanox.com/v1alpha1",
        "kind": "NicClusterPolicy",
        "metadata": {"name": "nic-cluster-policy"},
        "spec": configured,
    }


def seen(*documents: Document) -> Cluster:
    """The cluster of these documents, each kind of which was looked at."""
    kinds: dict[str, list[Document]] = defaultdict(list)
    for one in documents:
        kinds[one["kind"]].append(one)
    found = evidence.read(documents, *_known())
    return Cluster(
        {kind: tuple(listed) for kind, listed in kinds.items()},
        frozenset(kinds),
        builders.shipped(),
        found=found,
    )


@cache
def _known() -> tuple[Atlas, Resources]:
    return Atlas(library.shapes(None)), library.counted(None)


def survey(*documents: Document) -> Discovery:
    """What can be drafted from these documents."""
    return surveying.survey(seen(*documents), builders.shipped().values())


def draft(*documents: Document) -> Draft:
    """The one draft from these documents."""
    (found,) = survey(*documents).drafts
    return found


def gpus(
    given: Mapping[str, int] | None = None,
    labels: Mapping[str, str] | None = None,
    name: str = "gpu-0",
) -> Document:
    """A node with eight GPUs, and with other things to give."""
    counts = {key: str(count) for key, count in (given or {}).items()}
    return node(name, labels or {}, {"nvidia.com/gpu": "8", **counts})


def spec(*documents: Document) -> Document:
    """The spec of the one draft, once the reader has taken it."""
    document = draft(*documents).document()
    profile.read(document)
    found: Document = document["spec"]
    return found
