"""Volumes of ours beside the user's."""

from __future__ import annotations

from typing import Any, Final

import builders
import pytest

from podrail.admission import injection

SPEC: Final[dict[str, Any]] = {
    "settings": [{"name": "NCCL_IB_TC", "value": "106"}],
    "extras": {"shmSize": "1Gi"},
}


@pytest.mark.parametrize(
    ("name", "path"), [("podrail-shm", "/dev/shm"), ("podrail-nccl-conf", "/etc/nccl.conf")]
)
def test_a_name_that_the_user_has_taken_gets_a_number(name: str, path: str) -> None:
    """The user's volume stays what it is, and a second pass finds ours again."""
    fabric = builders.fabric(**SPEC)
    mine = {"name": name, "emptyDir": {}}
    container = builders.container(volumeMounts=[{"name": name, "mountPath": "/mine"}])
    once = injection.inject(builders.pod(container, volumes=[mine]), fabric).pod
    names = [volume["name"] for volume in once.spec["volumes"]]
    (ours,) = (one for one in once.containers[0]["volumeMounts"] if one["mountPath"] == path)
    assert mine == once.spec["volumes"][0]
    assert f"{name}-2" == ours["name"]
    assert len(set(names)) == len(names)
    assert once == injection.inject(once, fabric).pod


def test_a_volume_whose_mount_was_taken_away_is_used_again() -> None:
    """Another webhook may have replaced the mounts in between; there is no second volume."""
    fabric = builders.fabric(**SPEC)
    once = injection.inject(builders.pod(), fabric).pod
    bare = once.put(("spec", "containers", 0, "volumeMounts"), [])
    assert once == injection.inject(bare, fabric).pod
