"""`helm test`: an opted-in pod, created as a dry run, must come back as the webhook changes it."""  # noqa: INP001 - a script of the chart

import json
import sys
from pathlib import Path

from podrail_io.kube import Api, KubeError

namespace, profile, *kubeconfig = sys.argv[1:]
gpu = {"limits": {"nvidia.com/gpu": "1"}}
pod = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"generateName": "podrail-test-", "labels": {"podrail.dev/fabric": profile}},
    "spec": {"containers": [{"name": "train", "image": "none.invalid/none", "resources": gpu}]},
}
try:
    api = Api.connect(Path(kubeconfig[0]) if kubeconfig else None)
    made = api.post(f"/api/v1/namespaces/{namespace}/pods?dryRun=All", pod)
except KubeError as error:
    sys.exit(f"podrail: the API server did not take an opted-in pod: {error}")
marker = json.loads(made["metadata"].get("annotations", {}).get("podrail.dev/injected", "{}"))
if not marker:
    sys.exit("podrail: the pod came back without the marker: the webhook has not seen it")
if marker["outcome"] != "injected":
    sys.exit(f"podrail: the profile {profile} was not applied: {json.dumps(marker)}")
sys.stdout.write(f"podrail: the webhook injected the profile {profile}\n")
