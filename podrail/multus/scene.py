"""What the rules of lint look at: a profile, the definitions of its networks, and its nodes."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from podrail.fabric import Network, Profile
from podrail.fleet import Fleet
from podrail.multus.nad import Isolation, Nad


@dataclass(frozen=True, slots=True)
class Use:
    """A network of the profile, where it is listed, and its definition."""

    path: str
    network: Network
    nad: Nad
    resource: str

    @property
    def what(self) -> str:
        """The definition and who gives its addresses, for a message."""
        networks = ", ".join(name for pool in self.nad.config.pools for name in pool.networks)
        said = " ".join(word for word in (self.nad.config.ipam, networks) if word)
        return f"{self.nad.key} ({said})" if said else self.nad.key


@dataclass(frozen=True, slots=True)
class Scene:
    """All that a rule may look at; uses are of the definitions that exist."""

    profile: Profile
    nads: Mapping[str, Nad]
    isolation: Isolation
    uses: tuple[Use, ...]
    fleet: Fleet

    @property
    def distinct(self) -> Iterator[Use]:
        """Each definition once, where the profile lists it first."""
        seen: set[str] = set()
        for use in self.uses:
            if use.nad.key not in seen:
                seen.add(use.nad.key)
                yield use
