"""Kueue's own manager on the bed's control plane, without its webhooks: Jobs are created suspended."""

import os
import pathlib
import shutil
import subprocess

from bed import until
from control_plane import CACHE, Unavailable, build, free_ports, module_of

KUEUE = "/apis/kueue.x-k8s.io/v1beta1"
GPU = "nvidia.com/gpu"


def definitions():
    """Returns the folder with the CRDs, which the module has."""
    kept = CACHE / "kueue-crds"
    if not kept.exists():
        found = subprocess.run(["go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/kueue"], cwd=module_of("kueue"),
                               env={**os.environ, "GOFLAGS": ""}, capture_output=True, text=True, check=False)
        if found.returncode != 0:
            raise Unavailable(f"Kueue's CRDs are not there: {found.stderr.strip()[-500:]}")
        shutil.copytree(pathlib.Path(found.stdout.strip()) / "config/components/crd/bases", kept.with_suffix(".new"))
        kept.with_suffix(".new").rename(kept)
    return kept


class Kueue:
    """Started at once. REQUIRES: the bed has kube-scheduler, which binds the pods that Kueue lets run."""

    def __init__(self, bed):
        build(["kueue"])
        self.bed, self.api = bed, bed.api
        bed.kubectl("create", "--validate=false", "-f", str(definitions()))
        until(lambda: all(bed.api.ask("GET", f"{KUEUE}/{name}")[0] == 200
                          for name in ("workloads", "clusterqueues", "localqueues", "resourceflavors")), 30, "Kueue's CRDs")
        self.process = self._start()
        # Programs have the rights that they would have, and no others.
        bed.kubectl("replace", "--validate=false", "-f",
                    str(pathlib.Path(__file__).parents[3] / "deploy" / "kustomize" / "kueue" / "rbac.yaml"))

    def _start(self):
        plane = self.bed.plane
        certificates = plane.dir / "kueue"
        certificates.mkdir()
        plane._certificate("kueue-webhook", "/CN=kueue", "subjectAltName=IP:127.0.0.1")
        for kind, name in (("crt", "tls.crt"), ("key", "tls.key")):
            shutil.copy(plane.dir / f"kueue-webhook.{kind}", certificates / name)
        self.bed.name_space("kueue-system")
        # Its manager fills the Secret, and no API server asks its webhooks.
        self.api.do("POST", "/api/v1/namespaces/kueue-system/secrets", {"metadata": {"name": "kueue-webhook-server-cert"}})
        health, webhook = free_ports(2)
        settings = plane.dir / "kueue.yaml"
        settings.write_text(f"""apiVersion: config.kueue.x-k8s.io/v1beta1
kind: Configuration
namespace: kueue-system
health: {{healthProbeBindAddress: "127.0.0.1:{health}"}}
metrics: {{bindAddress: "0"}}
webhook: {{host: 127.0.0.1, port: {webhook}, certDir: {certificates}}}
leaderElection: {{leaderElect: false}}
clientConnection: {{qps: 200, burst: 400}}
integrations: {{frameworks: [batch/job]}}
featureGates: {{VisibilityOnDemand: false, MultiKueue: false, TopologyAwareScheduling: false}}
""")
        return plane.run("kueue", [CACHE / "bin" / "kueue", "--config", settings],
                         {"KUBECONFIG": plane.kubeconfig("admin")})

    def queue(self, name, gpus, preemption="Never"):
        """Creates a ClusterQueue with a quota of GPUs, of a flavor of the same name."""
        self.api.do("POST", f"{KUEUE}/resourceflavors", {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "ResourceFlavor",
                                                         "metadata": {"name": name}, "spec": {}})
        quota = {"name": name, "resources": [{"name": GPU, "nominalQuota": gpus}]}
        self.api.do("POST", f"{KUEUE}/clusterqueues", {
            "apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "ClusterQueue", "metadata": {"name": name},
            "spec": {"namespaceSelector": {}, "preemption": {"withinClusterQueue": preemption},
                     "resourceGroups": [{"coveredResources": [GPU], "flavors": [quota]}]}})

    def user(self, name, queue):
        """Creates a namespace with a LocalQueue."""
        self.bed.name_space(name)
        self.api.do("POST", f"{KUEUE}/namespaces/{name}/localqueues", {
            "apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "LocalQueue", "metadata": {"name": queue},
            "spec": {"clusterQueue": queue}})

    def priority(self, name, value):
        self.api.do("POST", f"{KUEUE}/workloadpriorityclasses", {
            "apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "WorkloadPriorityClass", "metadata": {"name": name},
            "value": value})

    def submit(self, ask, queue, priority=None):
        """Creates a Job as Kueue's webhook would leave it: suspended."""
        job = ask.manifest()
        job["spec"]["suspend"] = True
        job["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": queue}
        if priority:
            job["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = priority
        self.api.do("POST", f"/apis/batch/v1/namespaces/{ask.user}/jobs", job)

    def workload(self, ask):
        """Returns the Workload of a Job; None: there is none yet."""
        found = [one for one in self.api.list(f"{KUEUE}/namespaces/{ask.user}/workloads")
                 if one["metadata"]["ownerReferences"][0]["name"] == ask.name]
        return found[0] if found else None

    def condition(self, ask, name):
        """Returns the status of a condition and its reason."""
        workload = self.workload(ask) or {}
        found = [one for one in workload.get("status", {}).get("conditions", []) if one["type"] == name]
        return (found[0]["status"], found[0]["reason"]) if found else (None, None)

    def is_active(self, ask):
        return (self.workload(ask) or {}).get("spec", {}).get("active")
