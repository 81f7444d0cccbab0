"""What a pod needs, as far as its worth depends on it; all pods of a template need the same."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final

from podrail.fabric import Attachment, Profile
from podrail.kubelet.node import Container, Request

_COUNTED: Final = frozenset({Attachment.SRIOV_VF, Attachment.HOST_DEVICE, Attachment.EFA})
"""Attachments that give a pod devices of its own; the others open NICs to all who ask."""


@dataclass(frozen=True)
class Need:
    """GPUs, the rails of admission, and the devices that its containers ask for."""

    gpus: int
    rails: tuple[int, ...]
    late: bool = False
    """True if its rails are chosen at the bind."""
    request: Request = ()
    gpu_names: tuple[str, ...] = ("nvidia.com/gpu",)
    """Under which names it asks for GPUs; NVIDIA's plugin chooses among them, others' do not."""
    fabric: Profile | None = None

    @cached_property
    def _hash(self) -> int:
        known = (self.gpus, self.rails, self.late, self.request, self.gpu_names, self.fabric)
        return hash(known)

    def __hash__(self) -> int:
        """Counted once: a need is the key of caches that are asked for each state."""
        return self._hash

    @cached_property
    def containers(self) -> Request:
        """The request; of a pod of which only the GPUs are known, those."""
        if self.request or not self.gpus:
            return self.request
        return (Container(((self.gpu_names[0], self.gpus),)),)

    @cached_property
    def nics(self) -> Mapping[str, frozenset[int]]:
        """The rails of each resource of NICs that the pod asks for; empty is any rail."""
        asked = {name for container in self.request for name, _ in container.wants}
        found: dict[str, frozenset[int]] = {}
        for one in () if self.fabric is None else self.fabric.resources:
            if one.name in asked and not one.size:
                rails = frozenset() if one.rail is None else frozenset({one.rail})
                found[one.name] = found.get(one.name, rails) | rails
        return found

    @cached_property
    def counted(self) -> bool:
        """True if devices of its own make a rail the pod's."""
        return self.fabric is not None and self.fabric.attachment in _COUNTED

    @cached_property
    def pooled(self) -> bool:
        """True if a device plugin chooses its rails out of a pool."""
        return self.counted and any(not rails for rails in self.nics.values())

    @cached_property
    def fixed(self) -> bool:
        """True if each of its rails was counted at admission."""
        return self.counted and not self.pooled and not self.late


@lru_cache(maxsize=4096)
def same(need: Need) -> Need:
    """The one object for all needs that are equal to this one."""
    return need
