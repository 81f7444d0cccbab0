"""`podrail inject`: every kind, every form of output, and its own output fed back."""

from __future__ import annotations

import json
from typing import Any

import builders
import checkout
import jsonpatch
import pytest
import terminal
import yaml

from podrail import names
from podrail_io import files

TEMPLATE = {key: builders.document()[key] for key in ("metadata", "spec")}
KEYS = ["path", "injected", "warnings", "patch", "original", "pod"]


def workload(kind: str, **spec: Any) -> dict[str, Any]:
    """A workload of this kind."""
    return {"apiVersion": "x/v1", "kind": kind, "metadata": {"name": "train"}, "spec": spec}


def replicas(*roles: str) -> dict[str, Any]:
    """Replica specs of a Kubeflow job."""
    return {role: {"replicas": 2, "template": TEMPLATE} for role in roles}


POD = builders.document()
JOB = workload("Job", template=TEMPLATE)
DOCUMENTS = {
    "Pod": (POD, [""]),
    "List": (
        {"apiVersion": "v1", "kind": "List", "items": [POD, {"kind": "Service"}, JOB]},
        ["items[0]", "items[2].spec.template"],
    ),
    "Job": (JOB, ["spec.template"]),
    "MPIJob": (
        workload("MPIJob", mpiReplicaSpecs=replicas("Launcher", "Worker")),
        ["spec.mpiReplicaSpecs.Launcher.template", "spec.mpiReplicaSpecs.Worker.template"],
    ),
    "PyTorchJob": (
        workload("PyTorchJob", pytorchReplicaSpecs=replicas("Master", "Worker")),
        ["spec.pytorchReplicaSpecs.Master.template", "spec.pytorchReplicaSpecs.Worker.template"],
    ),
}
EVERY_KIND = pytest.mark.parametrize(("document", "paths"), DOCUMENTS.values(), ids=DOCUMENTS)


@EVERY_KIND
def test_there_is_an_entry_for_each_template(document: Any, paths: list[str]) -> None:
    """With exactly these keys, in this order, and the path where the template stands."""
    entries = terminal.inject(document)
    assert paths == [one["path"] for one in entries]
    assert [KEYS] * len(paths) == [list(one) for one in entries]
    assert [True] * len(paths) == [one["injected"] for one in entries]


@EVERY_KIND
def test_the_patch_leads_from_the_original_to_the_pod(document: Any, paths: list[str]) -> None:
    """As the JSON Patch library applies it."""
    for entry in terminal.inject(document):
        assert paths
        assert entry["patch"]
        assert entry["pod"] == jsonpatch.JsonPatch(entry["patch"]).apply(entry["original"])
        assert 8 == len(entry["pod"]["metadata"]["annotations"][names.NETWORKS].split(","))


@EVERY_KIND
def test_its_own_output_fed_back_changes_nothing(document: Any, paths: list[str]) -> None:
    """Neither the JSON of -o json nor the YAML of -o yaml is injected twice."""
    first = terminal.inject(document)
    again = terminal.inject({"pods": first})
    assert [f"pods[{n}].pod" for n in range(len(paths))] == [one["path"] for one in again]
    assert [(True, [])] * len(paths) == [(one["injected"], one["patch"]) for one in again]
    assert [one["pod"] for one in first] == [one["pod"] for one in again]
    written = terminal.run("inject", "-f", "-", given=document).stdout
    assert [[]] * len(paths) == [one["patch"] for one in terminal.inject(written)]


@EVERY_KIND
def test_yaml_is_the_whole_document_with_its_templates_injected(
    document: Any, paths: list[str]
) -> None:
    """What kubectl apply takes: nothing else has changed, and a template has got no kind."""
    after = yaml.safe_load(terminal.run("inject", "-f", "-", given=document).stdout)
    for entry, path in zip(terminal.inject(document), paths, strict=True):
        place = jsonpatch.JsonPointer(
            "".join(
                f"/{step}" for step in path.replace("[", ".").replace("]", "").split(".") if step
            )
        )
        whole = {"apiVersion": "v1", "kind": "Pod", **place.resolve(after)}
        assert entry["pod"] == whole
        after = place.set(after, place.resolve(document), inplace=False)
    assert after == document


def test_profile_stands_in_for_the_label() -> None:
    """By the name of a shipped profile, for pods without a label, and fed back with it again."""
    unlabelled = builders.document(fabric=None)
    (bare,) = terminal.inject(unlabelled)
    assert (False, [], unlabelled) == (bare["injected"], bare["patch"], bare["pod"])
    assert "not opted in" in bare["warnings"][0]
    entries = terminal.inject(unlabelled, "--profile", "sriov-pool")
    assert "nvidia.com/rdma-vf" in entries[0]["pod"]["spec"]["containers"][0]["resources"]["limits"]
    (again,) = terminal.inject({"pods": entries}, "--profile", "sriov-pool")
    assert (True, []) == (again["injected"], again["patch"])


def test_a_profile_may_be_a_file(tmp_path: Any) -> None:
    """Of one FabricProfile, which need not be installed anywhere."""
    path = tmp_path / "mine.yaml"
    networks = [{"name": "mine/net", "interface": "rdma", "rail": 0}]
    rails = {"count": 1, "gpus": 8}
    profile = builders.profile_document(
        "mine", attachment="SharedDevice", rails=rails, networks=networks
    )
    path.write_text(yaml.safe_dump(profile))
    (entry,) = terminal.inject(builders.document(fabric=None), "--profile", path)
    assert "mine/net@rdma" == entry["pod"]["metadata"]["annotations"][names.NETWORKS]


def test_a_pod_that_opts_out_stays_out() -> None:
    """--profile does not overrule the author."""
    (entry,) = terminal.inject(builders.document(fabric="none"), "--profile", "tcp")
    assert (False, [], ["opted out: label podrail.dev/fabric is none"]) == (
        entry["injected"],
        entry["patch"],
        entry["warnings"],
    )


@pytest.mark.parametrize(
    ("document", "told"),
    [
        (builders.document(fabric="h100-typo"), "no fabric profile 'h100-typo'; there are "),
        (builders.document(annotations={names.NETWORKS: '[{"name":'}), "metadata.annotations"),
        (builders.document(builders.container("a"), builders.container("b")), "spec.containers"),
        ({"kind": "Pod", "metadata": 5}, "metadata: expected an object, got 5"),
    ],
    ids=["unknown profile", "malformed networks", "two GPU containers", "no metadata"],
)
def test_a_pod_that_would_be_denied_is_status_1(document: Any, told: str) -> None:
    """The webhook's own message, and the pod as it was."""
    (entry,) = terminal.inject(document, status=1)
    assert (False, []) == (entry["injected"], entry["patch"])
    assert entry["pod"] == entry["original"]
    assert entry["warnings"][0].startswith("denied: ")
    assert told in entry["warnings"][0]
    assert told in terminal.run("inject", "-f", "-", given=document).stderr


def test_one_denied_template_does_not_hide_the_others() -> None:
    """Every template has its entry; the status tells that one was refused."""
    wrong = builders.document(fabric="typo")
    entries = terminal.inject({"kind": "List", "items": [wrong, POD]}, status=1)
    assert [False, True] == [one["injected"] for one in entries]


def test_patch_is_a_line_of_operations_for_each_template() -> None:
    """As kubectl patch --type=json takes it."""
    result = terminal.run("inject", "-f", "-", "-o", "patch", given=POD)
    assert terminal.inject(POD)[0]["patch"] == json.loads(result.stdout)


def test_diff_shows_what_is_added() -> None:
    """A unified diff of the YAML, nothing for a pod that stays as it is."""
    shown = terminal.run("inject", "-f", "-", "-o", "diff", given=POD).stdout.splitlines()
    assert ["--- pod (yours)", "+++ pod (with podrail)"] == shown[:2]
    assert "+        nvidia.com/rail7: '1'" in shown
    unlabelled = builders.document(fabric=None)
    assert "" == terminal.run("inject", "-f", "-", "-o", "diff", given=unlabelled).stdout


def test_the_namespace_decides_what_a_bare_network_name_means() -> None:
    """--namespace stands in where the document has none."""
    pod = builders.document(annotations={names.NETWORKS: "rail0"})

    def networks(*arguments: str) -> int:
        (entry,) = terminal.inject(pod, *arguments)
        return len(entry["pod"]["metadata"]["annotations"][names.NETWORKS].split(","))

    assert (8, 9) == (networks(), networks("-n", "team"))


def test_keys_that_are_numbers_are_read_as_kubectl_reads_them() -> None:
    """YAML has keys that JSON has not."""
    text = (
        "kind: Pod\nmetadata: {labels: {podrail.dev/fabric: tcp, 1: a}}\nspec: {containers: []}\n"
    )
    (entry,) = terminal.inject(text)
    assert "a" == entry["pod"]["metadata"]["labels"]["1"]


EXAMPLES = {
    str(path): files.file_documents(checkout.ROOT / path)
    for path in checkout.files()
    if path.parts[0] == "examples" and path.suffix in {".yaml", ".yml", ".json"}
    # Traces of jobs and clusters are no workloads; test_simulate and test_explain read them.
    if path.parts[1] not in {"traces", "clusters"}
}
PROFILES = {
    path for path, found in EXAMPLES.items() if found[0].document["kind"] == "FabricProfile"
}


@pytest.mark.parametrize("path", sorted(EXAMPLES.keys() - PROFILES))
def test_every_example_of_a_workload_is_injected(path: str) -> None:
    """Podrail accepts it as it stands, and every template with GPUs in it has opted in."""
    result = terminal.run("inject", "-f", checkout.ROOT / path, "-o", "json")
    assert 0 == result.exit_code
    pods = json.loads(result.stdout)["pods"]
    assert any(one["injected"] for one in pods)
    left = [one for one in pods if not one["injected"]]
    assert [] == [one["path"] for one in left if "/gpu" in json.dumps(one["original"])]


@pytest.mark.parametrize("path", sorted(PROFILES))
def test_every_example_of_a_profile_can_be_given(path: str) -> None:
    """To a pod that takes all GPUs of a node."""
    (entry,) = terminal.inject(POD, "--profile", checkout.ROOT / path)
    assert (True, True) == (entry["injected"], bool(entry["patch"]))


def test_there_are_examples_of_both() -> None:
    """Without any the two tests above would not run."""
    assert PROFILES
    assert EXAMPLES.keys() - PROFILES
