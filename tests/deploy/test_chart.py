"""What the chart renders: the same as deploy/, as its values say, and nothing that cannot work."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any, Final

import checkout
import helm
import pytest
import yaml

from podrail import names

pytestmark = pytest.mark.go
VALUES: Final = sorted((Path(__file__).parent / "values").glob("*.yaml"))
SOURCES: Final = ("certs", "controller", "extender", "nodeagent", "webhook", "crds")
SECRETS: Final = "podrail-tls"


def given(path: Path) -> dict[str, Any]:
    return dict(yaml.safe_load(path.read_text()))


@pytest.fixture(params=VALUES, ids=lambda path: path.stem)
def values(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Values of a cluster that somebody could have."""
    return given(request.param)


@pytest.fixture(scope="module")
def default() -> list[helm.Document]:
    """What is rendered without any value."""
    return helm.rendered()


def bare(document: helm.Document) -> helm.Document:
    """A document without what the chart says of itself."""
    found = copy.deepcopy(document)
    found["metadata"].pop("labels", None)
    found["metadata"].pop("annotations", None)
    found["metadata"].pop("creationTimestamp", None)
    return found


def sources() -> dict[tuple[str, str, str], helm.Document]:
    """The objects of deploy/ that are objects of a cluster, by kind, namespace and name."""
    paths = (path for one in SOURCES for path in (checkout.ROOT / "deploy" / one).glob("*.yaml"))
    documents = (one for path in paths for one in yaml.safe_load_all(path.read_text()) if one)
    return {key(one): one for one in documents if "metadata" in one}


def key(document: helm.Document) -> tuple[str, str, str]:
    metadata = document["metadata"]
    return (document["kind"], metadata.get("namespace", ""), metadata["name"])


def test_the_chart_says_what_deploy_says(default: list[helm.Document]) -> None:
    """Roles, policies, registration and definitions, to the last field."""
    ours = {key(one): bare(one) for one in default}
    wanted = {name: bare(one) for name, one in sources().items() if name[0] != "DaemonSet"}
    assert wanted == {name: ours.get(name) for name in wanted}


def test_the_agent_is_the_one_of_deploy(default: list[helm.Document]) -> None:
    """But for its image, its labels and what values may say; by default those say the same."""
    (wanted,) = (one for name, one in sources().items() if name[0] == "DaemonSet")
    found = helm.named(default, "DaemonSet", "podrail-nodeagent")
    ours, theirs = (one["spec"]["template"]["spec"] for one in (found, wanted))
    (agent,), (source,) = ours.pop("containers"), theirs.pop("containers")
    own = {"image", "imagePullPolicy", "ports", "env"}
    assert theirs == ours
    assert {key: source[key] for key in source.keys() - own} == {
        key: agent[key] for key in agent.keys() - own
    }
    assert source["env"] == agent["env"][: len(source["env"])]


def test_the_chart_is_sound(values: dict[str, Any]) -> None:
    """`helm lint --strict`, with values of every kind."""
    said = helm.run(
        "lint", helm.CHART, "--strict", "--namespace", helm.NAMESPACE,
        "--kube-version", helm.KUBERNETES, values=values,
    )  # fmt: skip
    assert "0 chart(s) failed" in said


def test_nothing_is_made_up_while_rendering(values: dict[str, Any]) -> None:
    """Twice the same: no certificate, password or time of day."""
    assert helm.text(values) == helm.text(values)


def test_no_object_is_there_twice(values: dict[str, Any]) -> None:
    """The last one would win, and which that is nobody can see."""
    keys = [key(one) for one in helm.rendered(values)]
    assert sorted(set(keys)) == sorted(keys)


def test_nobody_waits_for_its_own_webhook_or_scheduler(values: dict[str, Any]) -> None:
    """Podrail's pods carry no opt-in label and are placed by the cluster's own scheduler."""
    for pod in helm.pods(helm.rendered(values)).values():
        assert names.FABRIC not in pod["metadata"]["labels"]
        assert "schedulerName" not in pod["spec"]


def test_every_reference_leads_somewhere(values: dict[str, Any]) -> None:
    """Accounts, ConfigMaps and roles are there; the one Secret is whoever signs's."""
    found = helm.rendered(values)
    have = {(one["kind"], one["metadata"]["name"]) for one in found}
    for pod in helm.pods(found).values():
        assert ("ServiceAccount", pod["spec"]["serviceAccountName"]) in have
        for volume in pod["spec"].get("volumes", ()):
            assert volume.get("secret", {}).get("secretName", SECRETS) == SECRETS
            if "configMap" in volume:
                assert ("ConfigMap", volume["configMap"]["name"]) in have
    selectors = [one["spec"]["selector"] for one in found if one["kind"] == "Service"]
    labels = [pod["metadata"]["labels"] for pod in helm.pods(found).values()]
    assert all(any(one.items() <= label.items() for label in labels) for one in selectors)


def test_an_image_has_one_source(values: dict[str, Any]) -> None:
    """Podrail's own one, and kube-scheduler of the cluster's minor version."""
    found = helm.pods(helm.rendered(values)).values()
    images = {
        one["image"]
        for pod in found
        for one in [*pod["spec"]["containers"], *pod["spec"].get("initContainers", ())]
    }
    own = {one for one in images if "kube-scheduler" not in one}
    assert 1 == len(own)
    minor = helm.KUBERNETES.rpartition(".")[0]
    assert all(f":v{minor}." in one for one in images - own)


def test_kube_scheduler_may_be_of_another_patch() -> None:
    """A tag of the cluster's minor version is taken as it is given."""
    tag = f"v{helm.KUBERNETES.rpartition('.')[0]}.0"
    found = helm.pods(helm.rendered({"scheduler": {"image": {"tag": tag}}}))
    (container,) = found["Deployment/podrail-scheduler"]["spec"]["containers"]
    assert container["image"].endswith(f"/kube-scheduler:{tag}")


def test_only_the_extender_and_its_scheduler_may_bind(default: list[helm.Document]) -> None:
    """No other role of the chart has pods/binding, secrets of all namespaces, or anything at all."""
    rules = [
        (one["kind"], one["metadata"]["name"], rule)
        for one in default
        if one["kind"] in {"ClusterRole", "Role"}
        for rule in one["rules"]
    ]
    binds = [name for _, name, rule in rules if "pods/binding" in rule["resources"]]
    secrets = {(kind, name) for kind, name, rule in rules if "secrets" in rule["resources"]}
    assert ["podrail-extender"] == binds
    assert {("Role", "podrail-certs")} == secrets
    assert [] == [name for _, name, rule in rules if "*" in json.dumps(rule)]


def test_the_chart_binds_no_more_than_it_says(default: list[helm.Document]) -> None:
    """Every binding, whose it is and to what; kube-scheduler's rights are the extender's pod's."""
    bound = {
        (one["kind"], one["metadata"]["name"]): (
            one["roleRef"]["name"],
            [subject["name"] for subject in one["subjects"]],
        )
        for one in default
        if one["kind"].endswith("RoleBinding") and key(one) not in sources()
    }
    reader = "extension-apiserver-authentication-reader"
    assert {
        ("RoleBinding", "podrail-scheduler"): ("podrail-scheduler", ["podrail-extender"]),
        ("RoleBinding", "podrail-scheduler-authentication"): (reader, ["podrail-extender"]),
        ("RoleBinding", "podrail-test"): ("podrail-test", ["podrail-test"]),
    } == bound


@pytest.mark.parametrize("method", ["cert-manager", "provided"])
def test_who_makes_no_certificates_writes_no_secrets(method: str) -> None:
    """One Secret is read; with the right to create any there would be a policy, too."""
    found = helm.rendered({"certificates": {"method": method}})
    rules = helm.named(found, "Role", "podrail-certs")["rules"]
    assert [(["podrail-tls"], ["get"])] == [
        (rule.get("resourceNames"), rule["verbs"])
        for rule in rules
        if "secrets" in rule["resources"]
    ]
    auto = helm.named(helm.rendered(), "Role", "podrail-certs")["rules"]
    others = [rule for rule in auto if "secrets" not in rule["resources"]]
    assert others == rules[1:]


def test_without_a_scheduler_no_profile_names_one() -> None:
    """Pods would wait for ever for a scheduler that nobody runs."""
    found = helm.rendered({"scheduler": {"mode": "none"}})
    data = helm.named(found, "ConfigMap", "podrail-profiles")["data"]
    shipped = {path.name for path in (checkout.ROOT / "podrail/data/profiles").glob("*.yaml")}
    assert shipped == set(data)
    read = [yaml.safe_load(text) for text in data.values()]
    assert [] == [one["metadata"]["name"] for one in read if "schedulerName" in str(one)]


@pytest.mark.parametrize(
    "mistake",
    [
        pytest.param({"webhok": {}}, id="a section"),
        pytest.param({"webhook": {"replica": 3}}, id="a field"),
        pytest.param({"certificates": {"certManager": {"issuer": {}}}}, id="a deep field"),
        pytest.param({"webhook": {"failurePolicy": "Fail"}}, id="what is not to be changed"),
        pytest.param({"webhook": {"replicas": 0}}, id="a number"),
        pytest.param({"scheduler": {"mode": "third"}}, id="a word"),
        pytest.param({"webhook": {"extraEnv": [{"title": "A"}]}}, id="in a list"),
        pytest.param({"image": {"digest": "sha256:1"}}, id="a digest"),
    ],
)
def test_a_value_that_nobody_reads_is_refused(mistake: dict[str, Any]) -> None:
    """A misspelt value is no value: the schema is closed."""
    said = helm.text(mistake, status=1)
    assert "values don't meet the specifications of the schema" in said


def test_schema_and_values_are_about_the_same() -> None:
    """Every value has a schema, every schema a value, and every object is closed."""
    schema = json.loads((helm.CHART / "values.schema.json").read_text())
    values = yaml.safe_load((helm.CHART / "values.yaml").read_text())
    assert shape(values, schema, schema) == []


def shape(value: Any, schema: dict[str, Any], root: dict[str, Any], at: str = "") -> list[str]:
    """Where a value and its schema differ."""
    if "$ref" in schema:
        return shape(value, root["$defs"][schema["$ref"].rpartition("/")[2]], root, at)
    fields = schema.get("properties")
    if not isinstance(value, dict) or fields is None:
        return []
    # What other charts put under global is theirs; an empty object is not there at all.
    closed = at == ".global" or schema["additionalProperties"] is False
    names_differ = set(value) ^ set(fields) if value else set()
    wrong = [f"{at}: {sorted(names_differ)}"] * bool(names_differ) + [f"{at}: open"] * (not closed)
    return wrong + [
        one
        for name in value.keys() & fields.keys()
        for one in shape(value[name], fields[name], root, f"{at}.{name}")
    ]


@pytest.mark.parametrize(
    ("values", "flags", "said"),
    [
        pytest.param(
            {"scheduler": {"image": {"tag": "v1.30.1"}}}, (), "another minor version", id="scheduler"
        ),
        pytest.param({"test": {"namespace": helm.NAMESPACE}}, (), "never sees", id="test"),
        pytest.param({}, ("--namespace", "kube-system"), "cannot live in kube-system", id="home"),
        pytest.param(
            {"certificates": {"certManager": {"issuerRef": {"name": "a", "kind": "Issuer"}}}},
            (),
            "certificates.method is auto",
            id="issuer",
        ),
        pytest.param(
            {"webhook": {"hostNetwork": True, "port": 8080}, "nodeagent": {"hostNetwork": True}},
            (),
            "choose two",
            id="ports",
        ),
        pytest.param(
            {"webhook": {"podLabels": {names.FABRIC: "tcp"}}}, (), "must not wait", id="opted in"
        ),
        pytest.param(
            {"profiles": [{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "spec": {}}]},
            (),
            "profiles holds a Secret",
            id="profile",
        ),
        pytest.param({}, ("--kube-version", "1.33.9"), "incompatible with Kubernetes", id="old"),
    ],
)  # fmt: skip
def test_what_cannot_work_is_refused_in_words(
    values: dict[str, Any], flags: tuple[str, ...], said: str
) -> None:
    """Before anything is installed."""
    assert said in helm.text(values, *flags, status=1)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        pytest.param({"certificates": {"method": "cert-manager"}}, "install cert-manager", id="a"),
        pytest.param({"monitoring": {"rules": True}}, "Prometheus operator", id="b"),
    ],
)
def test_what_the_cluster_lacks_is_named(values: dict[str, Any], said: str) -> None:
    """Kinds that it does not serve."""
    command = ("template", helm.RELEASE, helm.CHART, "--namespace", helm.NAMESPACE)
    flags = ("--kube-version", helm.KUBERNETES)
    assert said in helm.run(*command, *flags, values=values, status=1)


def test_the_charts_own_tests_pass() -> None:
    """helm-unittest, over deploy/chart/podrail/tests."""
    said = helm.run("--strict", "--color=false", helm.CHART, package=helm.UNITTEST)
    assert "Test Suites: 3 passed, 3 total" in said


def test_a_package_holds_what_links_lead_to(tmp_path: Path) -> None:
    """Whoever gets the archive has no deploy/ beside it."""
    helm.run("package", helm.CHART, "--destination", tmp_path)
    (archive,) = tmp_path.iterdir()
    flags = ("--namespace", helm.NAMESPACE, "--kube-version", helm.KUBERNETES)
    whole = helm.run("template", helm.RELEASE, archive, *flags)
    assert whole == helm.run("template", helm.RELEASE, helm.CHART, *flags)
