"""`make cluster`: a real control plane with sixteen nodes and podrail in it, until Ctrl-C."""

from __future__ import annotations

import signal
import sys

from controlplane import nodes
from controlplane.binaries import NotRun
from controlplane.installed import ROOT, Installed, documents
from controlplane.plane import Cluster


def main() -> None:
    """Start everything, say how to reach it, wait, and end everything."""
    try:
        cluster = Cluster()
    except NotRun as missing:
        sys.exit(str(missing))
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with cluster:
            _furnish(cluster)
            print(f"\nexport KUBECONFIG={cluster.kubeconfig}\n")
            print("kubectl get nodes -L node.kubernetes.io/instance-type")
            print("kubectl create -f examples/workloads/job.yaml")
            print("kubectl get pods -o wide   # bound, never running: the nodes have no kubelets")
            print(
                "kubectl get pod -l job-name=train -o jsonpath='{.items[0].metadata.annotations}'"
            )
            print("\nCtrl-C ends everything.", flush=True)
            signal.pause()
    except KeyboardInterrupt:
        print("\nStopped.")


def _furnish(cluster: Cluster) -> None:
    """Nodes, the NAD CRD, the webhook, the extender and its scheduler."""
    for crd in documents(ROOT / "tests/cluster/crds/network-attachment-definition.yaml"):
        cluster.client.create(crd)
    cluster.client.create_all(nodes.two_shapes())
    installed = Installed(cluster, ROOT / "examples" / "profiles")
    webhook, extender = installed.webhook(), installed.extender()
    installed.register(webhook.address())
    cluster.scheduler("podrail-scheduler", installed.scheduler_config(extender.address()))


main()
