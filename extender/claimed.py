"""What pods claim by DRA: the specs of claims and of claim templates, as watches bring them."""

from collections.abc import Callable, Mapping
from typing import Any

from podrail.dra import claim
from podrail_io.kube import Api
from podrail_io.reflector import Reflector, World

Document = Mapping[str, Any]


class Claimed:
    """The specs by namespace/name."""

    def __init__(self, api: Api, world: World) -> None:
        self.templates: Reflector[Document] = Reflector(
            api, claim.TEMPLATES, claim.of_template, world
        )
        self.claims: Reflector[Document] = Reflector(api, claim.CLAIMS, claim.of_claim, world)

    def start(self) -> None:
        """Begin to follow them."""
        self.templates.start()
        self.claims.start()

    def of(self, namespace: str) -> Callable[[Document], Document | None]:
        """What gives the spec behind an entry of a pod's spec.resourceClaims, if it is known."""

        def spec(entry: Document) -> Document | None:
            template, own = claim.named(entry, namespace)
            return self.templates.get(template) if template else self.claims.get(own)

        return spec
