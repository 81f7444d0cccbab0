"""What the doctor looks at: a live cluster, or the files that kubectl get -o json writes."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from podrail import names
from podrail.doctor import fields
from podrail.doctor.cluster import NAMESPACE, Cluster, Parsed, Probe
from podrail.evidence import cluster as evidence
from podrail.evidence.atlas import Atlas
from podrail.fabric import Profile
from podrail_cli import census, doctor_trust, library, node
from podrail_io import files
from podrail_io.files import FileError, Placed
from podrail_io.kube import Api, StatusError

Document = Mapping[str, Any]
_SCHEDULER: Final = "KubeSchedulerConfiguration"
_TELLING: Final = (_SCHEDULER, "namespaceIsolation", '"multus')
"""Words of the ConfigMaps that are of interest."""
_SYSTEM: Final = "kube-system"
_MANY: Final = "List"


@dataclass(frozen=True, slots=True)
class Wish:
    """What the user says besides where the cluster is."""

    asked: tuple[Profile, ...] = ()
    """Profiles to look at though nobody uses them."""
    scheduler: tuple[Document, ...] = ()
    """Configurations of kube-schedulers that the API server does not have."""
    namespace: str = "default"
    """Where a pod is created, by a dry run."""


def of_files(path: Path, wish: Wish) -> Cluster:
    """The cluster in a file or a folder.

    Raises:
        FileError: it cannot be read.
    """
    kinds: dict[str, list[Document]] = defaultdict(list)
    for kind, one in evidence.flat(one.document for one in node.dump(path)):
        kinds[kind].append(one)
    kinds.pop(_MANY, None)
    documents = {kind: tuple(found) for kind, found in kinds.items()}
    found = _made(documents, frozenset(documents), {}, wish)
    served = [one for one in found.of("Secret") if _place(one) in doctor_trust.secrets(found)]
    return replace(found, certificates=doctor_trust.certificates(found, served))


def of_live(api: Api, wish: Wish, now: datetime) -> Cluster:
    """The cluster behind an API server; nothing is changed there.

    Raises:
        UnreachableError: it does not answer.
    """
    taken = census.take(api, census.PATHS)
    documents, unseen = dict(taken.documents), dict(taken.unseen)
    namespaces = {_SYSTEM, NAMESPACE, *_namespaces(documents.get("Pod", ()))}
    try:
        documents["ConfigMap"] = tuple(
            one
            for namespace in sorted(namespaces)
            for one in census.listed(api, "ConfigMap", [census.namespaced(namespace, "configmaps")])
        )
    except StatusError as error:
        unseen["ConfigMap"] = f"ConfigMap may not be listed: {error}"
    found = _made(documents, frozenset(documents), unseen, wish)
    served = (
        census.one(api, census.namespaced(namespace, "secrets", name))
        for namespace, name in doctor_trust.secrets(found)
    )
    kept = [one for one in served if one is not None]
    return replace(
        found,
        now=now,
        certificates=doctor_trust.certificates(found, kept),
        probe=_probe(api, wish),
    )


def _namespaces(pods: Iterable[Document]) -> Iterator[str]:
    """Where kube-schedulers and Multus run."""
    for pod in pods:
        images = [fields.text(one, "image") for one in fields.containers(pod)]
        if any("kube-scheduler" in image or "multus" in image for image in images):
            yield fields.text(pod, "metadata", "namespace")


def _place(one: Document) -> tuple[str, str]:
    return fields.text(one, "metadata", "namespace"), fields.name(one)


def _made(
    documents: Mapping[str, tuple[Document, ...]],
    seen: frozenset[str],
    unseen: Mapping[str, str],
    wish: Wish,
) -> Cluster:
    fabrics = library.in_force(documents.get("FabricProfile", ()), wish.asked)
    whole = {**documents}
    if wish.scheduler:
        whole[_SCHEDULER] = (*wish.scheduler, *documents.get(_SCHEDULER, ()))
    told = [one for kind in evidence.KINDS for one in documents.get(kind, ())]
    return Cluster(
        documents=whole,
        seen=seen,
        profiles=fabrics.profiles,
        asked=tuple(one.name for one in wish.asked),
        problems=tuple(map(str, fabrics.problems)),
        unseen=unseen,
        found=evidence.read(
            told, Atlas(library.shapes(None)), library.devices(fabrics.profiles.values())
        ),
        parsed=tuple(_parsed(documents.get("ConfigMap", ()))),
    )


def _parsed(configmaps: Iterable[Document]) -> Iterator[Parsed]:
    for one in configmaps:
        for key, text in fields.part(one, "data").items():
            if isinstance(text, str) and any(word in text for word in _TELLING):
                for found in _documents(text, fields.place(one)):
                    if isinstance(found.document, dict):
                        yield Parsed(fields.place(one), key, found.document)


def _documents(text: str, place: str) -> list[Placed]:
    try:
        return files.documents(text, place)
    except FileError:
        return []  # somebody else's format


def _probe(api: Api, wish: Wish) -> Probe:
    """What becomes of an opted-in pod without GPUs: it is marked, and nothing is kept of it."""
    fabric = wish.asked[0].name if wish.asked else "tcp"
    secure = {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"generateName": "podrail-doctor-", "labels": {names.FABRIC: fabric}},
        "spec": {
            "containers": [{"name": "none", "image": "none.invalid", "securityContext": secure}]
        },
    }
    try:
        made = api.post(f"{census.namespaced(wish.namespace, 'pods')}?dryRun=All", pod)
    except StatusError as error:
        return Probe(injected=False, refusal=str(error))
    return Probe(bool(fields.text(made, "metadata", "annotations", names.INJECTED)))
