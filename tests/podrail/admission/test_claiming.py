"""A pod under a profile with claims: what it gets, what is refused, and the laws of injection."""

from __future__ import annotations

import copy
import json
from typing import Any

import builders
import fuzz
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podrail import names, pod
from podrail.admission import claiming, injection, patch
from podrail.admission.injection import Injection
from podrail.admission.vicinity import Vicinity
from podrail.dra import template
from podrail.errors import PodError
from podrail.fabric import Profile

PAIRS = "dra-pairs"
KNOWN = Vicinity(claim_classes=lambda _namespace, _claim: frozenset({"dranet.net"}))
"""Every template is known, and all are for NICs."""


def fabric() -> Profile:
    return builders.shipped()[PAIRS]


def claimant(gpus: str = "4", *, limit: int = 0, **fields: Any) -> dict[str, Any]:
    """A pod that claims GPUs."""
    annotations = {names.GPUS: gpus, **fields.pop("annotations", {})}
    container = builders.container(gpus=limit)
    return builders.document(container, fabric=PAIRS, annotations=annotations, **fields)


def inject(document: dict[str, Any], profile: Profile | None = None) -> Injection:
    return injection.inject(pod.read(document, "team"), profile or fabric(), KNOWN)


def test_the_pod_names_its_template_and_the_container_its_claim() -> None:
    """The marker and the warning tell what is claimed, by device class."""
    found = inject(claimant())
    name = template.pairs(fabric(), 4, 0).name
    assert [{"name": "podrail", "resourceClaimTemplateName": name}] == found.pod.spec[
        "resourceClaims"
    ]
    assert [{"name": "podrail"}] == found.pod.containers[0]["resources"]["claims"]
    assert {"gpu.nvidia.com": 4, "dranet.net": 4} == found.marker.resources
    assert "gpu.nvidia.com: 4, dranet.net: 4" in found.warnings[0]


def test_limits_of_a_whole_node_stay_and_only_nics_are_claimed() -> None:
    """All GPUs with all NICs need no pairing; the limits may be a device plugin's or a claim's."""
    found = inject(builders.document(fabric=PAIRS))
    assert {"nvidia.com/gpu": "8"} == found.pod.containers[0]["resources"]["limits"]
    (claim,) = found.pod.spec["resourceClaims"]
    assert template.nics(fabric()).name == claim["resourceClaimTemplateName"]


@pytest.mark.parametrize(
    ("document", "code"),
    [
        pytest.param(claimant("4", limit=4), "GpusAskedTwice", id="twice"),
        pytest.param(
            builders.document(builders.container(gpus=4), fabric=PAIRS), "GpusNotClaimed", id="half"
        ),
        pytest.param(claimant("9"), "MalformedGpus", id="too-many"),
        pytest.param(claimant("all"), "MalformedGpus", id="no-number"),
    ],
)
def test_what_would_not_be_paired_is_refused(document: dict[str, Any], code: str) -> None:
    """With a message that names the annotation to write."""
    with pytest.raises(PodError, match=r"gpus") as caught:
        inject(document)
    assert code == caught.value.code


@pytest.mark.parametrize("gpus", ["0", None])
def test_a_pod_that_claims_no_gpus_is_left_alone(gpus: str | None) -> None:
    """As one without GPUs in its limits; the reason names the annotation."""
    annotations = {} if gpus is None else {names.GPUS: gpus}
    document = builders.document(builders.container(gpus=0), fabric=PAIRS, annotations=annotations)
    found = inject(document)
    assert "NoGpu" == found.marker.reason
    assert names.GPUS in found.marker.reasons[0].message


def test_of_several_containers_one_is_named() -> None:
    """A claim says nothing of where its GPUs go; without a name the pod is refused."""
    two = [builders.container(name, gpus=0) for name in ("a", "b")]
    with pytest.raises(PodError, match=r"containers a, b"):
        inject(builders.document(*two, fabric=PAIRS, annotations={names.GPUS: "1"}))
    chosen = {names.GPUS: "1", names.CONTAINER: "b"}
    found = inject(builders.document(*two, fabric=PAIRS, annotations=chosen))
    assert ["claims" in one["resources"] for one in found.pod.containers] == [False, True]


def test_a_name_that_the_user_has_is_not_taken() -> None:
    """The user's entry stays, and ours gets the next name."""
    users = {"name": "podrail", "resourceClaimName": "storage"}
    document = claimant(resourceClaims=[users])
    found = injection.inject(pod.read(document, "team"), fabric())
    assert ["podrail", "podrail-2"] == [one["name"] for one in found.pod.spec["resourceClaims"]]
    assert users == found.pod.spec["resourceClaims"][0]


def test_nics_that_the_pod_claims_itself_are_its_rails() -> None:
    """Whatever the profile: it is skipped as before."""
    users = {"name": "mine", "resourceClaimTemplateName": "nics"}
    assert "DraNetworks" == inject(claimant(resourceClaims=[users])).marker.reason


def test_a_claim_of_another_generation_is_not_doubled() -> None:
    """A pod that was copied keeps the devices that it names, and gets no second ones."""
    before = builders.fabric(PAIRS, attachment="Dra", claim={"nicSelector": "old"})
    copied = dict(inject(claimant(), before).pod.document)
    found = injection.inject(pod.read(copied, "team"), fabric())
    assert "DraNetworks" == found.marker.reason
    assert copied["spec"] == found.pod.document["spec"]


def test_rails_that_the_pod_names_have_no_effect() -> None:
    """The author is told; the marker says that any rail may come."""
    found = inject(claimant(annotations={names.RAILS: "0,1"}))
    assert tuple(range(8)) == found.marker.rails
    assert "RailsAreClaimed" in {one.code for one in found.marker.reasons}


def test_the_pods_of_a_job_claim_in_the_same_group() -> None:
    """Which one follows from the job: pods of one job ask for one template."""
    gb200 = builders.shipped()["dra-gb200"]
    documents = [
        claimant("1", name=f"j-{number}", labels={"batch.kubernetes.io/job-name": job})
        for job in map(str, range(8))
        for number in range(2)
    ]
    named = [
        inject(one, gb200).pod.spec["resourceClaims"][0]["resourceClaimTemplateName"]
        for one in documents
    ]
    assert named[::2] == named[1::2]
    assert 2 == len(set(named))


def test_other_profiles_take_no_notice() -> None:
    """The annotation counts only where the attachment is Dra."""
    other = builders.shipped()["tcp"]
    found = pod.read(claimant(), "team")
    assert (0, {}) == (claiming.gpus(found, other), claiming.counts(found, other))


ENTRIES = st.lists(
    st.sampled_from(["podrail", "podrail-2", "mine"]).map(
        lambda name: {"name": name, "resourceClaimName": "storage"}
    ),
    max_size=3,
    unique_by=lambda one: one["name"],
)


@fuzz.examples(100)
@given(
    st.sampled_from([PAIRS, "dra-gb200"]),
    st.integers(1, 4).map(str),
    ENTRIES,
    st.lists(st.sampled_from(["mine", "podrail"]), max_size=2, unique=True),
)
def test_the_laws_of_injection_hold(
    name: str, gpus: str, entries: list[dict[str, str]], used: list[str]
) -> None:
    """A second pass changes nothing, nothing of the user's is lost, and the patch leads there."""
    document = claimant(gpus, resourceClaims=entries)
    document["spec"]["containers"][0]["resources"]["claims"] = [{"name": one} for one in used]
    before = copy.deepcopy(document)
    found = injection.inject(pod.read(document, "team"), builders.shipped()[name])
    after = json.loads(json.dumps(found.pod.document))
    assert before == document
    assert after == inject_again(after, name)
    assert entries == after["spec"]["resourceClaims"][: len(entries)]
    assert used == [
        one["name"] for one in after["spec"]["containers"][0]["resources"]["claims"][: len(used)]
    ]
    assert patch.proven(patch.diff(document, found.pod.document), document, found.pod.document)


def inject_again(document: dict[str, Any], name: str) -> Any:
    """The document after one more pass, when every template is known."""
    profile = builders.shipped()[name]
    known = Vicinity(
        claim_classes=lambda _namespace, claim: (
            frozenset({"dranet.net"}) if "resourceClaimTemplateName" in claim else frozenset()
        )
    )
    found = injection.inject(pod.read(document, "team"), profile, known)
    return json.loads(json.dumps(found.pod.document))
