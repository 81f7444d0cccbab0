"""The ResourceClaimTemplates of a profile with attachment Dra (resource.k8s.io/v1).

A template asks for bundles: as many GPUs and NICs as the machine has for each other, one and one as
a rule, bound together by an attribute that both must share or by the expressions of a NUMA group.
Its name holds a hash of what it asks for, since the spec of a template can never be changed.
"""

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final

from podrail import marker
from podrail.fabric import Claim, Group, Profile

MOST_DEVICES: Final = 32
"""The most devices, and the most requests, of one claim (AllocationResultsMaxSize, v1.36)."""
PREFIX: Final = "podrail-"
_ANY: Final = Group("", "")
_HASHED: Final = 10


@dataclass(frozen=True, slots=True)
class Template:
    """A template: its name, its spec, and how many devices of each class it asks for."""

    name: str
    spec: Mapping[str, Any]
    devices: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class _Bundle:
    """GPUs and the NICs that belong to them."""

    gpus: int
    nics: int
    group: Group


def nics_of(profile: Profile) -> int:
    """How many NICs a node has: one a GPU, unless the profile counts its rails."""
    return profile.rails.count or profile.rails.gpus


def stem(profile: Profile) -> str:
    """What the names of all templates of a profile begin with, in whatever generation."""
    return f"{PREFIX}{profile.name}-"


@lru_cache(maxsize=256)
def every(profile: Profile) -> Mapping[str, Template]:
    """Every template that pods of the profile may need, by name; none without claims."""
    if profile.claim is None:
        return {}
    starts = range(max(1, len(profile.claim.groups)))
    found = [
        pairs(profile, gpus, start) for gpus in range(1, profile.rails.gpus + 1) for start in starts
    ]
    return MappingProxyType({one.name: one for one in (*found, nics(profile))})


@lru_cache(maxsize=1024)
def pairs(profile: Profile, gpus: int, start: int) -> Template:
    """The template for so many GPUs with their NICs; their NUMA groups begin with group start."""
    claim = _claim(profile)
    requests: list[dict[str, Any]] = []
    constraints: list[dict[str, Any]] = []
    for number, bundle in enumerate(_bundles(profile, gpus, start)):
        names = [f"gpu-{number}", f"nic-{number}"]
        requests += [
            _request(
                names[0],
                claim.gpu_class,
                bundle.gpus,
                (claim.gpu_selector, bundle.group.gpu_selector),
            ),
            _request(
                names[1],
                claim.nic_class,
                bundle.nics,
                (claim.nic_selector, bundle.group.nic_selector),
            ),
        ]
        if claim.match:
            constraints.append({"requests": names, "matchAttribute": claim.match})
    return _template(f"{stem(profile)}{gpus}gpu", requests, constraints)


@lru_cache(maxsize=256)
def nics(profile: Profile) -> Template:
    """The template for all NICs of a node, for pods whose limits name all of its GPUs."""
    claim = _claim(profile)
    request = _request("nics", claim.nic_class, nics_of(profile), (claim.nic_selector,))
    return _template(f"{stem(profile)}nics", [request], [])


def _claim(profile: Profile) -> Claim:
    assert profile.claim is not None  # noqa: S101 - only profiles with claims are asked for templates
    return profile.claim


def _bundles(profile: Profile, gpus: int, start: int) -> list[_Bundle]:
    """Bundles for so many GPUs; the last may have fewer GPUs, with all the NICs near them."""
    groups = _claim(profile).groups or (_ANY,)
    own = (*groups[start:], *groups[:start])
    share = math.gcd(profile.rails.gpus, nics_of(profile))
    most, near = profile.rails.gpus // share, nics_of(profile) // share
    room = -(-share // len(own))
    found: list[_Bundle] = []
    while gpus > 0:
        found.append(_Bundle(min(most, gpus), near, own[len(found) // room]))
        gpus -= most
    return found


def _request(name: str, device_class: str, count: int, selectors: Sequence[str]) -> dict[str, Any]:
    """A request, spelled as the API server completes it."""
    exactly: dict[str, Any] = {"deviceClassName": device_class}
    chosen = [{"cel": {"expression": one}} for one in selectors if one]
    if chosen:
        exactly["selectors"] = chosen
    return {"name": name, "exactly": {**exactly, "allocationMode": "ExactCount", "count": count}}


def _template(
    begun: str, requests: list[dict[str, Any]], constraints: list[dict[str, Any]]
) -> Template:
    devices: dict[str, Any] = {"requests": requests}
    if constraints:
        devices["constraints"] = constraints
    spec = {"spec": {"devices": devices}}
    digest = hashlib.sha256(marker.compact(spec).encode()).hexdigest()[:_HASHED]
    counts: dict[str, int] = {}
    for request in requests:
        exactly = request["exactly"]
        name = exactly["deviceClassName"]
        counts[name] = counts.get(name, 0) + exactly["count"]
    return Template(f"{begun}-{digest}", spec, counts)
