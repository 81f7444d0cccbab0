"""The pod that explain is asked about, with what is around it: live, in a dump, or by a dry run."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from podrail import names
from podrail.errors import MalformedError, Problem
from podrail.evidence import cluster as evidence
from podrail.gang import job
from podrail.gang.jobsize import Owner
from podrail_cli import census, library, placing
from podrail_cli.placing import Question, Scenery
from podrail_io.kube import Api, StatusError

Document = Mapping[str, Any]
_POD: Final = "Pod"
_UNSEEN: Final = (
    "opted in by {where}, but created without the webhook, so it has no rails: podrail doctor says "
    "whether the webhook works; then create the pod again"
)
_NOT_ASKED: Final = f"not opted in: there is no label {names.FABRIC} on the pod or its namespace"
_KEPT: Final = ("labels", "annotations")


@dataclass(frozen=True, slots=True)
class Looked:
    """A pod document with its namespace, and what there is to say of it."""

    pod: Document
    name: str
    warnings: tuple[str, ...]
    scenery: Scenery | None
    """None if no nodes are known."""
    source: str
    """Where it comes from, for people."""
    refused: str = ""
    """Why the API server would not create it."""
    created: bool = False
    """True for a pod that is there."""
    more: Sequence[Document] = ()
    """What tells of its job's size."""


def called(question: Question) -> str:
    """The name of a pod that is not yet created, or of the object that will make it."""
    metadata = question.pod["metadata"]
    own = metadata.get("name") or metadata.get("generateName")
    return str(own or (question.owner.get("metadata") or {}).get("name", ""))


def pod(api: Api, namespace: str, name: str) -> Looked:
    """A pod of a live cluster.

    Raises:
        StatusError: there is no such pod, or nobody may see it.
        UnreachableError: the API server does not answer.
    """
    found = placing.owned(api.get(census.namespaced(namespace, "pods", name)), namespace, {})
    home = census.one(api, f"/api/v1/namespaces/{namespace}") or {}
    return Looked(
        found,
        name,
        _warnings(found, home),
        _scenery(api),
        "the cluster",
        created=True,
        more=_owners(api, found, namespace),
    )


def dumped(documents: Sequence[Any], namespace: str, name: str, where: str) -> Looked:
    """A pod of a dump.

    Raises:
        MalformedError: there is no such pod in it.
    """
    kinds = [(kind, one) for kind, one in evidence.flat(documents)]
    at = (namespace, name)
    found = next((one for kind, one in kinds if kind == _POD and _place(one) == at), None)
    if found is None:
        raise MalformedError(where, [Problem(f"{namespace}/{name}", "no such pod")])
    homes = (one for kind, one in kinds if kind == "Namespace" and _place(one)[1] == namespace)
    fabrics = library.in_force(one for kind, one in kinds if kind == "FabricProfile")
    scenery = Scenery(documents, fabrics.profiles, None, where)
    warnings = _warnings(found, next(homes, {}))
    owned = placing.owned(found, namespace, {})
    return Looked(owned, name, warnings, scenery, where, created=True)


def _place(document: Document) -> tuple[str, str]:
    metadata = document.get("metadata") or {}
    return str(metadata.get("namespace", "default")), str(metadata.get("name", ""))


def dry_run(api: Api, question: Question) -> Looked:
    """What the API server, its webhooks and policies make of a pod, of which nothing is kept.

    Raises:
        UnreachableError: the API server does not answer.
    """
    metadata = question.pod["metadata"]
    namespace = str(metadata["namespace"])
    target = f"{census.namespaced(namespace, 'pods')}?dryRun=All"
    source = "a dry run in the cluster"
    try:
        made = api.post(target, _bare(question, namespace))
    except StatusError as error:
        return Looked(question.pod, called(question), (), None, source, refused=str(error))
    home = census.one(api, f"/api/v1/namespaces/{namespace}") or {}
    more = (question.owner,) if question.owner else _owners(api, made, namespace)
    return Looked(made, called(question), _warnings(made, home), _scenery(api), source, more=more)


def _bare(question: Question, namespace: str) -> dict[str, Any]:
    """The pod as its author would create it anew: no name that is taken, no node, no status."""
    document = placing.owned(question.entry.template.pod, namespace, question.owner)
    metadata = document["metadata"]
    kept = {key: metadata[key] for key in _KEPT if metadata.get(key)}
    spec = {key: one for key, one in (document.get("spec") or {}).items() if key != "nodeName"}
    return {
        "apiVersion": "v1",
        "kind": _POD,
        "metadata": {"generateName": "podrail-explain-", **kept},
        "spec": spec,
    }


def _warnings(document: Document, home: Document) -> tuple[str, ...]:
    """Why a pod has no marker, if it has none."""
    metadata = document.get("metadata") or {}
    if names.INJECTED in (metadata.get("annotations") or {}):
        return ()
    own = (metadata.get("labels") or {}).get(names.FABRIC)
    theirs = ((home.get("metadata") or {}).get("labels") or {}).get(names.FABRIC)
    if own == names.OPT_OUT:
        return (f"opted out: label {names.FABRIC} is {names.OPT_OUT}",)
    if own is None and theirs in {None, names.OPT_OUT}:
        return (_NOT_ASKED,)
    where = "its label" if own is not None else "its namespace's label"
    return (_UNSEEN.format(where=where),)


def _scenery(api: Api) -> Scenery:
    """The nodes and pods of a live cluster, and its profiles."""
    taken = census.take(api, census.PLACES)
    fabrics = library.in_force(taken.documents.get("FabricProfile", ()))
    documents = taken.listed(census.PLACES)
    return Scenery(documents, fabrics.profiles, None, "the cluster")


def _owners(api: Api, document: Document, namespace: str) -> tuple[Document, ...]:
    """The objects that know how many pods the job has: those that the rules of jobs ask for."""
    wanted: list[Owner] = []

    def remember(owner: Owner) -> int | None:
        wanted.append(owner)
        return None

    job.of(document, namespace, remember)
    found: Iterable[Document | None] = (census.owner(api, one) for one in wanted)
    return tuple(one for one in found if one is not None)
