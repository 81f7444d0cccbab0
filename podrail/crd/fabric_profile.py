"""FabricProfile as a custom resource; what no rule here says, a profile's Ready condition tells."""

from collections.abc import Mapping
from typing import Any, Final

from podrail import profile, schema
from podrail.crd import definition
from podrail.crd.definition import Kind
from podrail.dra import terms
from podrail.names import OPT_OUT
from podrail.schema import Schema, validations

FABRIC_PROFILE: Final = Kind(
    profile.KIND,
    "fabricprofiles",
    "fp",
    (
        ("Mode", "string", ".spec.mode"),
        ("Attachment", "string", ".spec.attachment"),
        ("Rails", "integer", ".spec.rails.count"),
        ("Verified", "string", ".spec.verified"),
        ("Ready", "string", ".status.conditions[?(@.type=='Ready')].status"),
        ("Age", "date", ".metadata.creationTimestamp"),
    ),
)

SENTENCES: Final[Mapping[str, str]] = {
    "spec": "How the fabric's devices are handed to pods.",
    "spec.description": "One line about the fabric, for people.",
    "spec.verified": "How far the profile was tried: hardware, node, api or document.",
    "spec.mode": "Enforce injects; Observe only warns and records; Suspended is the off switch.",
    "spec.namespaceSelector": "The namespaces whose pods may use the profile; absent: all.",
    "spec.namespaceSelector.matchLabels": "Labels that the namespace must have.",
    "spec.namespaceSelector.matchExpressions": "Requirements that must all hold.",
    "spec.namespaceSelector.matchExpressions[].key": "The label's key.",
    "spec.namespaceSelector.matchExpressions[].operator": "How the label is looked at.",
    "spec.namespaceSelector.matchExpressions[].values": "The values, with In and NotIn only.",
    "spec.gpuResources": "The resources that count as GPUs; absent: nvidia.com/gpu.",
    "spec.attachment": "How a pod gets to the fabric's devices.",
    "spec.dialect": "Whose annotation names a pod's networks; absent: Multus.",
    "spec.rails": "The rails of a node.",
    "spec.rails.count": "How many rails a node has.",
    "spec.rails.gpus": "How many GPUs a node has; absent: as many as rails, or 8 without rails.",
    "spec.rails.numaGroups": "The rails by NUMA node, each in one group; absent: one group.",
    "spec.networks": "The networks that pods are attached to, in the order of their interfaces.",
    "spec.networks[].name": "The NetworkAttachmentDefinition as namespace/name; a bare name with"
    " the dialects of GKE and Volcengine.",
    "spec.networks[].rail": "The rail that the network is on; absent: not a single one.",
    "spec.networks[].interface": "The interface in the pod; absent: rail and its number.",
    "spec.networks[].repeat": "How often a pod is attached; interfaces then get a number each.",
    "spec.networks[].cniArgs": "The cni-args of the network's element, passed on as they are.",
    "spec.networks[].resource": "The one of resources of which each attachment takes a device.",
    "spec.resources": "The resources that pods ask for.",
    "spec.resources[].name": "An extended resource, hugepages-2Mi or hugepages-1Gi.",
    "spec.resources[].rail": "The rail that it is for; absent: not a single one.",
    "spec.resources[].count": "How many a pod asks for.",
    "spec.resources[].count.per": "What the value is multiplied by; absent: Rail.",
    "spec.resources[].count.value": "A whole number, or a size such as 5120Mi for hugepages.",
    "spec.requestedBy": "Who writes the requests; Injector leaves them to"
    " network-resources-injector.",
    "spec.partial": "What a pod gets that asks for a part of a node's GPUs; absent: AllRails.",
    "spec.settings": "The variables of NCCL and its kin that pods get where they set none.",
    "spec.settings[].name": "The variable.",
    "spec.settings[].value": "Its value on any node.",
    "spec.settings[].carrier": "How it reaches the ranks; absent: the file for NCCL's, else env.",
    "spec.settings[].late": "Values for particular nodes; the first that matches wins.",
    "spec.settings[].late[].when": "The node: either its instanceType or one label.",
    "spec.settings[].late[].when.instanceType": "The value of node.kubernetes.io/instance-type.",
    "spec.settings[].late[].when.label": "One label of the node and its value.",
    "spec.settings[].late[].value": "The value on such a node.",
    "spec.confFile": "Where the settings' file is mounted; absent: /etc/nccl.conf.",
    "spec.extras": "What else pods get, each only where they say nothing themselves.",
    "spec.extras.ipcLock": "Whether the container gets the capability IPC_LOCK.",
    "spec.extras.shmSize": "The size of a /dev/shm in memory, in Mi or Gi; absent: none.",
    "spec.extras.nodeSelector": "Labels that the pod's node must have.",
    "spec.extras.schedulerName": "The scheduler, in place of the default one.",
    "spec.extras.dnsPolicy": "The pod's dnsPolicy.",
    "spec.patienceSeconds": "How long a pod waits for a good place before it takes any; absent: 0.",
    **{f"spec.{path}": sentence for path, sentence in terms.SENTENCES.items()},
    "status": "What podrail's controller found; nothing depends on it.",
    "status.observedGeneration": "The generation of the spec that the conditions are about.",
    "status.conditions": "Ready, NetworksResolved and ResourcesAdvertised.",
    "status.conditions[].type": "What the condition is about.",
    "status.conditions[].status": "Whether it holds.",
    "status.conditions[].observedGeneration": "The generation that it was found for.",
    "status.conditions[].lastTransitionTime": "When the status last changed.",
    "status.conditions[].reason": "Why, in one word.",
    "status.conditions[].message": "Why, for people: every problem with its path.",
}
"""What `kubectl explain` says of each field."""

DEFAULTS: Final[Mapping[str, Schema]] = {
    "spec.verified": {"default": "document"},
    "spec.mode": {"default": "Enforce"},
    "spec.attachment": {"default": "None"},
    "spec.dialect": {"default": "Multus"},
    "spec.rails.count": {"default": 0},
}
"""The reader's defaults that listings show and rules look at; the others stay unsaid."""

_BY_NAME: Final[Schema] = {
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
}
_RAIL: Final = "x, !has(x.rail) || x.rail < (has(self.rails) ? self.rails.count : 0)"
_LISTED: Final = "(has(self.resources) && self.resources.exists(r, r.name == x.resource))"
_SIZED: Final = "has(self.count) && has(self.count.value) && type(self.count.value) == string"
_ONCE: Final = "self.numaGroups.all(g, g.all(r, self.numaGroups.exists_one(h, r in h)))"
_ALL: Final = "self.numaGroups.map(g, size(g)).sum() == self.count"
_HUGE: Final = "self.name.startsWith('hugepages-')"
_PER_POD: Final = "self.?count.?per.orValue('Rail') in ['Pod', 'Fixed']"
_ONE_LABEL: Final = "(has(self.label) && size(self.label) == 1)"


def _each(name: str, test: str, expected: str) -> tuple[str, str, str]:
    """A rule that holds for each item of a list, which may be absent.

    Not orValue([]): it has no bound, and the rule would cost more than is allowed.
    """
    return (f"!has(self.{name}) || self.{name}.all({test})", expected, f".{name}")


def _networks(test: str, expected: str) -> tuple[str, str, str]:
    """A rule of the spec that holds for each network x."""
    return _each("networks", test, expected)


RULES: Final[Mapping[str, Schema]] = {
    "": validations((f"self.metadata.name != '{OPT_OUT}'", f"expected a name but {OPT_OUT}")),
    "spec": validations(
        _networks(_RAIL, "expected each networks[].rail to be less than rails.count"),
        _networks(
            f"x, !has(x.resource) || {_LISTED}",
            "expected each networks[].resource to be the name of one of resources",
        ),
        _networks(
            "_, !(self.attachment in ['None', 'Dra', 'HostNetwork'])",
            "expected no networks with attachment None, Dra or HostNetwork",
        ),
        _networks(
            "x, x.name.contains('/') == (self.dialect == 'Multus')",
            "expected networks[].name as namespace/name with dialect Multus, else as a bare name",
        ),
        _networks(
            "x, has(x.rail) || has(x.interface) || self.dialect == 'Volcengine'",
            "expected networks[].interface for a network without a rail",
        ),
        _networks(
            "x, !has(x.cniArgs) || self.dialect == 'Multus'",
            "expected no networks[].cniArgs with a dialect other than Multus",
        ),
        _each("resources", _RAIL, "expected each resources[].rail to be less than rails.count"),
        *terms.RULES,
    ),
    "spec.rails": validations(
        (
            f"!has(self.numaGroups) || size(self.numaGroups) == 0 || ({_ALL} && {_ONCE})",
            "expected each rail from 0 to count - 1 in exactly one group",
            ".numaGroups",
        ),
        _each("numaGroups", "g, g.all(r, r < self.count)", "expected rails less than count"),
    ),
    "spec.rails.numaGroups[]": {"x-kubernetes-list-type": "set"},
    "spec.networks[].interface": validations(
        (
            f"!self.matches('^({profile.TAKEN.pattern})$')",
            "expected a name that the pod network and Multus do not give themselves",
        )
    ),
    "spec.resources": _BY_NAME,
    "spec.resources[]": validations(
        (
            f"{_HUGE} == ({_SIZED})",
            "expected count.value as a size for hugepages, else as a whole number",
        ),
        (f"!{_HUGE} || {_PER_POD}", "expected count.per Pod for hugepages"),
    ),
    "spec.settings": _BY_NAME,
    "spec.settings[].late[].when": validations(
        (
            f"(self.?instanceType.orValue('') != '') != {_ONE_LABEL}",
            "expected either instanceType or one label",
        )
    ),
    "spec.namespaceSelector.matchExpressions[]": validations(
        (
            "(has(self.values) && size(self.values) > 0) == (self.operator in ['In', 'NotIn'])",
            "expected values with the operators In and NotIn only",
        )
    ),
}
"""What no field says alone."""

_WHOLE: Final[Mapping[str, Schema]] = {
    "": {"description": "One fabric: how its devices are handed to pods.", "required": ["spec"]}
}


def fabric_profiles() -> dict[str, Any]:
    """The CustomResourceDefinition of FabricProfile."""
    recorded = schema.of(profile.take)["properties"]
    status: Schema = {
        "type": "object",
        "properties": {
            "observedGeneration": definition.GENERATION,
            "conditions": definition.CONDITIONS,
        },
    }
    found = definition.whole(recorded["spec"], status, recorded["metadata"]["properties"]["name"])
    told = {path: {"description": sentence} for path, sentence in SENTENCES.items()}
    for more in (_WHOLE, told, DEFAULTS, RULES):
        found = schema.extended(found, more)
    return definition.of(FABRIC_PROFILE, found)
