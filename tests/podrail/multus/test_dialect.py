"""GKE's and Volcengine's own annotations: what is read, what is added, what is refused."""

from __future__ import annotations

import json
from typing import Any, Final

import builders
import pytest

from podrail import names
from podrail.admission import injection
from podrail.admission.injection import Injection
from podrail.errors import PodError
from podrail.multus import dialect

GKE: Final[dict[str, Any]] = {
    "attachment": "HostDevice",
    "dialect": "GKE",
    "rails": {"count": 2, "gpus": 8},
    "networks": [
        {"name": "rdma-0", "rail": 0, "interface": "eth2"},
        {"name": "rdma-1", "rail": 1, "interface": "eth3"},
    ],
    "resources": [
        {"name": "networking.gke.io.networks/rdma-0", "rail": 0},
        {"name": "networking.gke.io.networks/rdma-1", "rail": 1},
    ],
}
VOLCENGINE: Final[dict[str, Any]] = {
    "attachment": "HostDevice",
    "dialect": "Volcengine",
    "rails": {"count": 3, "gpus": 8},
    "networks": [{"name": "rdma", "repeat": 3}],
    "resources": [{"name": "vke.volcengine.com/rdma"}],
}
OURS: Final = [
    {"interfaceName": "eth0", "network": "default"},
    {"interfaceName": "eth2", "network": "rdma-0"},
    {"interfaceName": "eth3", "network": "rdma-1"},
]


def injected(spec: dict[str, Any], text: str | None = None, key: str = "") -> Injection:
    """The injection of a pod with this annotation."""
    annotations = None if text is None else {key: text}
    return injection.inject(builders.pod(annotations=annotations), builders.fabric(**spec))


def test_a_gke_pod_gets_its_default_network_and_its_rails() -> None:
    """GKE wants eth0 in the list and named as the default."""
    found = injected(GKE)
    assert OURS == json.loads(found.pod.annotations[dialect.GKE_KEY])
    assert "eth0" == found.pod.annotations[dialect.GKE_DEFAULT_KEY]
    assert names.NETWORKS not in found.pod.annotations
    assert [(1, "rdma-0", "eth2", 0), (2, "rdma-1", "eth3", 1)] == [
        (one.index, one.name, one.interface, one.rail) for one in found.marker.networks
    ]


def test_the_users_gke_list_stays_to_the_letter_and_ours_follows() -> None:
    """A network under another interface counts as attached; blanks and order stay."""
    text = '[ {"interfaceName":"eth9", "network":"rdma-1"} ]'
    found = injected(GKE, text, dialect.GKE_KEY)
    added = ',{"interfaceName":"eth2","network":"rdma-0"}]'
    assert text[:-2] + added == found.pod.annotations[dialect.GKE_KEY]
    assert ("networks/rdma-1",) == found.marker.kept


def test_a_complete_gke_list_is_left_as_it_is() -> None:
    """Nothing to add, and a second pass finds ours."""
    text = json.dumps(OURS, indent=1)
    found = injected(GKE, text, dialect.GKE_KEY)
    assert text == found.pod.annotations[dialect.GKE_KEY]
    assert 2 == len(found.marker.networks)


def test_volcengine_counts_elements_and_names_no_interface() -> None:
    """Two by hand and a profile of three: one is added."""
    text = '[{"cniConf":{"name":"rdma"}},{"cniConf":{"name":"rdma"}}]'
    found = injected(VOLCENGINE, text, dialect.VOLCENGINE_KEY)
    assert (
        text[:-1] + ',{"cniConf":{"name":"rdma"}}]'
        == (found.pod.annotations[dialect.VOLCENGINE_KEY])
    )
    assert [0, 1, 2] == [one.index for one in found.marker.networks]
    assert "3" == found.pod.containers[0]["resources"]["limits"]["vke.volcengine.com/rdma"]


@pytest.mark.parametrize("spec", [GKE, VOLCENGINE], ids=["GKE", "Volcengine"])
def test_rails_of_other_dialects_are_never_late(spec: dict[str, Any]) -> None:
    """Late binding writes Multus's annotation only."""
    assert not builders.fabric(**{**spec, "attachment": "SharedDevice"}).late_networks


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("x", "is not JSON"),
        ("[" * 10_000, "is not JSON"),
        ("{}", "expected a JSON array of objects, got {}"),
        ("[1]", "[0]: expected an object like"),
        ('[{"network":"a"}]', "[0]: expected an object like"),
        ('[{"network":5,"interfaceName":"eth1"}]', "[0]: expected an object like"),
    ],
)
def test_a_list_that_gke_would_not_understand_is_refused(text: str, place: str) -> None:
    """The message names the annotation, the element and its form."""
    with pytest.raises(PodError) as caught:
        injected(GKE, text, dialect.GKE_KEY)
    assert "MalformedNetworks" == caught.value.code
    assert place in str(caught.value)


@pytest.mark.parametrize("text", ['[{"cniConf":"rdma"}]', '[{"cniConf":{}}]'])
def test_a_list_that_volcengine_would_not_understand_is_refused(text: str) -> None:
    """Each element has a cniConf with a name."""
    with pytest.raises(PodError, match="cniConf"):
        injected(VOLCENGINE, text, dialect.VOLCENGINE_KEY)
