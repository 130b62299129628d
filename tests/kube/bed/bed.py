"""A cluster to schedule: a real control plane, played nodes and training, and fairlead."""

import collections
import contextlib
import json
import os
import pathlib
import subprocess
import time

from api import Api, Failed, Gone
from control_plane import ControlPlane


DEPLOYED = pathlib.Path(__file__).parents[3] / "deploy" / "kustomize"


class Settings:
    programs = pathlib.Path("build/release")  # with fairlead and fairlead-fakelet


def until(is_so, limit_s, what, pause_s=0.1):
    """Waits for a result of another process. AssertionError: it did not come about."""
    end = time.monotonic() + limit_s
    while True:
        with contextlib.suppress(Gone):
            if is_so():
                return
        if time.monotonic() > end:
            raise AssertionError(f"not within {limit_s} s: {what() if callable(what) else what}")
        time.sleep(pause_s)


class Ask:
    """A job: the number of pods and of GPUs on each, the model, and its length in simulated seconds."""

    def __init__(self, name, user="lab", pods=1, gpus=1, work_s=None, model=None, **more):
        self.name, self.user, self.pods, self.gpus = name, user, pods, gpus
        self.work_s, self.model = work_s, model
        self.scheduler = more.pop("scheduler", "fairlead")
        self.time_s = more.pop("time_s", None)  # the user's statement, in real seconds
        self.product = more.pop("product", None)
        self.retries = more.pop("retries", 0)
        self.volumes = more.pop("volumes", [])  # of each pod, as in its spec
        self.priority_class = more.pop("priority_class", None)
        self.claims = more.pop("claims", [])  # resourceClaims of each pod
        self.is_named = more.pop("is_named", False)  # its pods name their gang, which is stopped by eviction
        assert not more, more

    def manifest(self):
        marks = {"bed/gang": str(self.pods)}
        if self.work_s is not None:
            marks["bed/work-s"] = f"{self.work_s:.3f}"
        if self.model:
            marks["fairlead.dev/model"] = self.model
        owner_marks = {"fairlead.dev/model": self.model} if self.model else {}
        if self.time_s is not None:
            owner_marks["fairlead.dev/time-s"] = f"{self.time_s:.3f}"
        limits = {"nvidia.com/gpu": str(self.gpus)} if self.gpus else {}
        pod = {"schedulerName": self.scheduler, "restartPolicy": "Never",
               "containers": [{"name": "train", "image": "none", "resources": {"limits": limits}}]}
        if self.volumes:
            pod["volumes"] = self.volumes
        if self.claims:
            pod["resourceClaims"] = self.claims
            pod["containers"][0]["resources"]["claims"] = [{"name": claim["name"]} for claim in self.claims]
        if self.priority_class:
            pod["priorityClassName"] = self.priority_class
        if self.product:
            pod["nodeSelector"] = {"nvidia.com/gpu.product": self.product}
        spec = {"parallelism": self.pods, "completions": self.pods, "completionMode": "Indexed",
                "backoffLimit": self.retries, "template": {"metadata": {"annotations": marks}, "spec": pod}}
        if self.is_named:
            marks |= {"fairlead.dev/gang": self.name, "fairlead.dev/gang-size": str(self.pods)}
            # An evicted pod does not count as a failure of the Job.
            spec["podFailurePolicy"] = {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]}
        return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": self.name, "annotations": owner_marks}, "spec": spec}


class Bed:
    """`cluster` and `settings` are those of `fairlead simulate`; `factor` simulated seconds pass in one."""

    def __init__(self, cluster, settings=(), factor=1, **plane):
        self.cluster, self.settings, self.factor = cluster, list(settings), factor
        self.plane = ControlPlane(**plane)
        self.replicas = 0

    def __enter__(self):
        self.plane.__enter__()
        try:
            self.api = Api(self.plane)
            # Programs have the rights that they would have, and no others.
            for name in ("base/namespace", "base/rbac", "agent/service-account", "agent/rbac", "agent/admission"):
                self.kubectl("create", "--validate=false", "-f", str(DEPLOYED / f"{name}.yaml"))
            sets = [word for setting in self.settings for word in ("--set", setting)]
            self.fakelet = self.plane.run(
                "fakelet", [Settings.programs / "fairlead-fakelet", "--cluster", self.cluster, "--factor", self.factor,
                            "--logs", self.logs(), *sets],
                {"KUBECONFIG": self.plane.kubeconfig()})
            until(self.is_ready, 60, lambda: f"the nodes are ready: {self.fakelet.said()}")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.plane.__exit__()

    def is_ready(self):
        assert self.fakelet.is_up(), self.fakelet.said()
        nodes = self.api.list("/api/v1/nodes")
        return bool(nodes) and not any(node["spec"].get("taints") for node in nodes) and len(nodes) == self.wanted_nodes()

    def wanted_nodes(self):
        return len(self.gpus_of_node())

    def gpus_of_node(self):
        """Returns the nodes of the cluster in shorthand: "16xV100:8,4xK80:4"."""
        sizes = [int(group.rpartition(":")[2]) for group in self.cluster.split(",") for _ in range(int(group.split("x")[0]))]
        return {f"n{row}": gpus for row, gpus in enumerate(sizes)}

    # --- Fairlead ---

    def fairlead(self, policy, wait=True, again=False, port=None, backend="kubernetes"):
        """`again`: restarts it when it ends by itself, like a Deployment. It serves its metrics at `port`."""
        self.replicas += 1
        seen = ["--http", f"127.0.0.1:{port}"] if port else []
        around = ["sh", "-c", 'until "$@"; do sleep 1; done', "sh"] if again else []
        process = self.plane.run(
            f"fairlead-{self.replicas}",
            [*around, Settings.programs / "fairlead", "serve", "--backend", backend, "--policy", policy, *seen],
            {"KUBECONFIG": self.plane.kubeconfig("fairlead")})
        if wait:
            until(lambda: " GPUs on " in process.said() or not process.is_up(), 60, lambda: f"it leads: {process.said()}")
            assert process.is_up(), process.said()
        return process

    def uninstall(self, backend="kubernetes"):
        """Resumes what fairlead suspended. REQUIRES: it was stopped. Returns its output."""
        told = subprocess.run([Settings.programs / "fairlead", "serve", "--backend", backend, "--uninstall"],
                              env=os.environ | {"KUBECONFIG": self.plane.kubeconfig("fairlead")}, capture_output=True, text=True)
        assert told.returncode == 0, told.stderr
        return told.stdout

    def logs(self):
        return self.plane.dir / "pods"

    def agents(self):
        """Starts an agent on each node, which measures speeds."""
        self.logs().mkdir(exist_ok=True)
        for node in self.gpus_of_node():
            self.plane.run(f"agent-{node}", [Settings.programs / "fairlead", "agent", "--node", node, "--logs", self.logs()],
                           {"KUBECONFIG": self.plane.token_kubeconfig(f"agent-{node}", self.agent_token(node))})

    def agent_token(self, node):
        """Returns the token that the agent's pod on the node has, by which the API server knows the node."""
        name = f"agent-{node}"
        pod = self.api.do("POST", "/api/v1/namespaces/fairlead/pods", {
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": {"serviceAccountName": "fairlead-agent", "nodeName": node, "containers": [{"name": "agent", "image": "none"}]}})
        bound = {"kind": "Pod", "apiVersion": "v1", "name": name, "uid": pod["metadata"]["uid"]}
        asked = self.api.do("POST", "/api/v1/namespaces/fairlead/serviceaccounts/fairlead-agent/token", {
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
            "spec": {"boundObjectRef": bound, "expirationSeconds": 3600}})
        return asked["status"]["token"]

    def client(self, *words):
        """Runs a command of fairlead with the rights of an administrator. Returns its output."""
        return subprocess.run([Settings.programs / "fairlead", *words], capture_output=True, text=True, check=True,
                              env={**os.environ, "KUBECONFIG": self.plane.kubeconfig()}).stdout

    def learned(self, port):
        """Returns the learned speeds by user, model and GPU type, relative to the first one of the model."""
        told = self.client("models", "learned", "--from", "kubernetes", "--http", f"127.0.0.1:{port}", "--json")
        return {(row["user"], row["model"], row["gpu_type"]): row["speed"] for row in json.loads(told)["models"]}

    # --- Jobs ---

    def name_space(self, name):
        with contextlib.suppress(Failed):
            self.api.do("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        # Pods are refused until it has a service account.
        until(lambda: self.api.ask("GET", f"/api/v1/namespaces/{name}/serviceaccounts/default")[0] == 200, 30,
              f"the namespace {name}")

    def submit(self, ask):
        return self.api.do("POST", f"/apis/batch/v1/namespaces/{ask.user}/jobs", ask.manifest())

    def job_path(self, ask):
        return f"/apis/batch/v1/namespaces/{ask.user}/jobs/{ask.name}"

    def job(self, ask):
        return self.api.get(self.job_path(ask))

    def suspend(self, ask, suspend):
        self.api.patch(self.job_path(ask), {"spec": {"suspend": suspend}})

    def pods(self, ask):
        return self.api.list(f"/api/v1/namespaces/{ask.user}/pods?labelSelector=job-name%3D{ask.name}")

    def nodes_of(self, ask):
        """Returns the nodes of its pods, if all run; else None."""
        pods = self.pods(ask)
        runs = [pod["spec"]["nodeName"] for pod in pods
                if pod["status"]["phase"] == "Running" and "deletionTimestamp" not in pod["metadata"]]
        return sorted(runs) if len(runs) == ask.pods else []

    def is_done(self, ask):
        return any(c["type"] == "Complete" and c["status"] == "True"
                   for c in self.job(ask)["status"].get("conditions", []))

    def tell(self, tickets):
        text = "".join(f"{name}: {count}\n" for name, count in tickets.items())
        self.api.apply("/api/v1/namespaces/fairlead/configmaps", {"metadata": {"name": "fairlead"}, "data": {"tickets": text}})

    def kubectl(self, *words):
        return subprocess.run(["kubectl", *words], env={**os.environ, "KUBECONFIG": self.plane.kubeconfig()},
                              capture_output=True, text=True, check=True).stdout

    def budget(self, ask, least):
        """Creates a PodDisruptionBudget: the number of a running job's pods that must stay. It applies on return. A
        budget of none may apply earlier, so the pods may be gone on return."""
        path = f"/apis/policy/v1/namespaces/{ask.user}/poddisruptionbudgets"
        selector = {"matchLabels": {"job-name": ask.name}}
        with contextlib.suppress(Failed):
            self.api.do("POST", path, {"metadata": {"name": ask.name}, "spec": {"selector": selector}})
        self.api.patch(f"{path}/{ask.name}", {"spec": {"minAvailable": least}})
        status = lambda: self.api.get(f"{path}/{ask.name}")["status"]
        if least == 0:
            return
        allowed = ask.pods - least
        until(lambda: status().get("disruptionsAllowed") == allowed and status().get("currentHealthy") == ask.pods, 30,
              lambda: f"the budget allows {allowed}: {status()}")

    def mark_node(self, name, mark, value):
        """Sets an annotation; `value` None removes it."""
        self.api.patch(f"/api/v1/nodes/{name}", {"metadata": {"annotations": {mark: value}}})

    def cordon(self, name, is_cordoned=True):
        self.api.patch(f"/api/v1/nodes/{name}", {"spec": {"unschedulable": is_cordoned}})

    def foreign_pod(self, name, node, gpus, user="others"):
        """Creates a pod that is not fairlead's, on a node already."""
        self.name_space(user)
        limits = {"limits": {"nvidia.com/gpu": str(gpus)}}
        self.api.do("POST", f"/api/v1/namespaces/{user}/pods", {
            "metadata": {"name": name},
            "spec": {"nodeName": node, "containers": [{"name": "train", "image": "none", "resources": limits}]}})

    # --- What happened ---

    def history(self):
        """Returns the log of the kubelets and the training, in order."""
        return [json.loads(line) for line in self.fakelet.said().splitlines() if line.startswith("{")]


class Judgement:
    """Checks the kubelets' own log: no GPU is used twice, no gang is half there for long, no job is lost."""

    def __init__(self, history, gpus_of_node, asks):
        self.refused = sum(line["what"] == "refused" for line in history)
        self.most_taken = collections.Counter()
        self.twice = 0
        self.longest_half_s = 0.0
        self.done = {line["job"] for line in history if line["what"] == "done"}
        self.lost = [f"{ask.user}/{ask.name}" for ask in asks if f"{ask.user}/{ask.name}" not in self.done]
        self._play(history, gpus_of_node, {f"{ask.user}/{ask.name}": ask.pods for ask in asks})

    def _play(self, history, gpus_of_node, size_of):
        taken, members, half_since = collections.Counter(), collections.defaultdict(set), {}
        held = {}
        done = set()
        for line in history:
            if line["what"] == "done":
                done.add(line["job"])
            if "pod" not in line:
                continue
            uid, job = line["uid"], line["pod"].rsplit("-", 2)[0]
            if line["what"] == "admitted":
                taken[line["node"]] += line["gpus"]
                held[uid] = (line["node"], line["gpus"])
                self.twice += taken[line["node"]] > gpus_of_node[line["node"]]
                members[job].add(uid)
            elif line["what"] in ("stopped", "succeeded", "gone") and uid in held:
                node, gpus = held.pop(uid)
                taken[node] -= gpus
                members[job].discard(uid)
            is_half = job in size_of and 0 < len(members[job]) < size_of[job] and job not in done
            if is_half:
                half_since.setdefault(job, line["at_ms"])
            elif job in half_since:
                self.longest_half_s = max(self.longest_half_s, (line["at_ms"] - half_since.pop(job)) / 1000)
        for since in half_since.values():
            self.longest_half_s = max(self.longest_half_s, (history[-1]["at_ms"] - since) / 1000)
