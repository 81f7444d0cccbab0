"""The parts of a pod that podrail reads, checked once; every change returns a new pod.

The document stays raw, so fields that nobody here knows pass through untouched. Objects at a
mutating webhook are not yet validated: names may be empty or double, quantities negative.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from podrail import document, names
from podrail.errors import PodError
from podrail.reading import shown

Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod document whose parts have the types that the rules rely on, and its namespace."""

    document: Document
    namespace: str

    @property
    def metadata(self) -> Document:
        """The metadata; empty if absent."""
        return self.document.get("metadata") or {}

    @property
    def spec(self) -> Document:
        """The spec; empty if absent."""
        return self.document.get("spec") or {}

    @property
    def annotations(self) -> Mapping[str, str]:
        """The annotations; empty if absent."""
        return self.metadata.get("annotations") or {}

    @property
    def labels(self) -> Mapping[str, str]:
        """The labels; empty if absent."""
        return self.metadata.get("labels") or {}

    @property
    def containers(self) -> Sequence[Document]:
        """The app containers."""
        return self.spec.get("containers") or ()

    @property
    def running(self) -> Iterator[Document]:
        """The containers that run together: the app's and the native sidecars (KEP-753)."""
        yield from self.containers
        for container in self.spec.get("initContainers") or ():
            if container.get("restartPolicy") == "Always":
                yield container

    def annotate(self, key: str, value: str) -> "Pod":
        """The pod with one more annotation; itself if it has it already."""
        if self.annotations.get(key) == value:
            return self
        return self.put(("metadata", "annotations", key), value)

    def without_annotations(self, keys: Sequence[str]) -> "Pod":
        """The pod without these annotations."""
        if not keys:
            return self
        left = {key: value for key, value in self.annotations.items() if key not in keys}
        return self.put(("metadata", "annotations"), left)

    def put(self, path: Sequence[str | int], value: object) -> "Pod":
        """The pod with value at a path of its document."""
        return Pod(document.put(self.document, path, value), self.namespace)

    @property
    def mirror(self) -> bool:
        """True for the kubelet's copy of a static pod."""
        return names.MIRROR in self.annotations


def limits(container: Document) -> Document:
    """The limits of a container; empty if it has none."""
    found: Document = (container.get("resources") or {}).get("limits") or {}
    return found


def read(raw: object, namespace: str) -> Pod:
    """The pod in a raw document.

    Raises:
        PodError: a part that podrail reads has another type than core/v1 gives it.
    """
    top = _object(raw, "")
    metadata = _part(top, "metadata", "")
    for key in ("labels", "annotations"):
        _texts(metadata, key, "metadata")
    for index, owner in enumerate(_list(metadata, "ownerReferences", "metadata")):
        _object(owner, f"metadata.ownerReferences[{index}]")
    spec = _part(top, "spec", "")
    for kind in ("containers", "initContainers"):
        for index, container in enumerate(_list(spec, kind, "spec")):
            _check_container(container, f"spec.{kind}[{index}]")
    for key in ("schedulerName", "dnsPolicy"):
        _text(spec, key, "spec")
    _texts(spec, "nodeSelector", "spec")
    _part(spec, "securityContext", "spec")
    for kind in ("volumes", "resourceClaims"):
        for index, entry in enumerate(_list(spec, kind, "spec")):
            place = f"spec.{kind}[{index}]"
            _text(_object(entry, place), "name", place)
    return Pod(top, namespace)


def _check_container(raw: object, path: str) -> None:
    container = _object(raw, path)
    _text(container, "name", path)
    resources = _part(container, "resources", path)
    for key in ("limits", "requests"):
        _part(resources, key, f"{path}.resources")
    context = _part(container, "securityContext", path)
    capabilities = _part(context, "capabilities", f"{path}.securityContext")
    _list(capabilities, "add", f"{path}.securityContext.capabilities")
    for key in ("env", "envFrom", "volumeMounts"):
        for index, entry in enumerate(_list(container, key, path)):
            # Hundreds of entries that are well need no path.
            if type(entry) is not dict or type(entry.get("name", "")) is not str:
                place = f"{path}.{key}[{index}]"
                _text(_object(entry, place), "name", place)


def _object(value: object, path: str) -> Document:
    if not isinstance(value, dict):
        raise _wrong(path, "an object", value)
    return value


def _part(parent: Document, key: str, path: str) -> Document:
    value = parent.get(key)
    return {} if value is None else _object(value, f"{path}.{key}".lstrip("."))


def _list(parent: Document, key: str, path: str) -> Sequence[Any]:
    value = parent.get(key)
    if value is not None and not isinstance(value, list):
        raise _wrong(f"{path}.{key}", "a list", value)
    return value or ()


def _text(parent: Document, key: str, path: str) -> None:
    value = parent.get(key)
    if value is not None and not isinstance(value, str):
        raise _wrong(f"{path}.{key}", "a string", value)


def _texts(parent: Document, key: str, path: str) -> None:
    for name, text in _part(parent, key, path).items():
        if not isinstance(text, str):
            raise _wrong(f"{path}.{key}[{name!r}]", "a string", text)


def _wrong(path: str, expected: str, value: object) -> PodError:
    return PodError("MalformedPod", path or "pod", f"expected {expected}, got {shown(value)}")
