#!/usr/bin/env python3
"""Turns in place on a real API server, with real processes in real cgroups; run by hand, as root:

    tests/kube/agent_live.py --program build/dev/fairlead --kubeconfig ADMIN [--seconds 180] [--cgroups v1|v2]

The cluster needs a player of kubelets that lets pods of nodes with the annotation kwok.x-k8s.io/node run and go
(tests/kube/bed). This file plays their other half: each pod that runs gets a process in a cgroup that is named as a
kubelet names it, below a root for each node. Two Jobs, of users with 1 and 2 tickets, each with a pod on both of two
nodes, take turns on all of their GPUs. The checks: shares follow the tickets, no process is started twice, and frozen
processes are released when agent, scheduler or Job end. Prints a line for each; exits 1 if a check fails.
"""

import argparse
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

NODES = ("live-a", "live-b")
GPUS = 2
USERS = {"live-ann": 1, "live-bob": 2}
PLACE = "live-fairlead"  # namespace of the Lease

# Counts the time in which it runs; a gap is a freeze. Its last line stands for a checkpoint.
WORKER = """
import os, signal, sys, time
def leave(*_):
    print(f"{work:.3f} left", file=out); out.flush(); os._exit(0)
out = open(sys.argv[1], "a")
work, last = 0.0, time.monotonic()
signal.signal(signal.SIGTERM, leave)
while True:
    time.sleep(0.01)
    now = time.monotonic()
    work += min(now - last, 0.05)
    last = now
    print(f"{work:.3f}", file=out); out.flush()
"""

RIGHTS = """
apiVersion: v1
kind: ServiceAccount
metadata: {name: agent, namespace: %(place)s}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: live-fairlead-agent}
rules:
- {apiGroups: [""], resources: [pods], verbs: [get, list, watch, patch]}
- {apiGroups: [""], resources: [nodes], verbs: [get, list, watch]}
- {apiGroups: [""], resources: [nodes/status], verbs: [patch]}
- {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: live-fairlead-agent}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: live-fairlead-agent}
subjects: [{kind: ServiceAccount, name: agent, namespace: %(place)s}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: fairlead, namespace: %(place)s}
data: {tickets: "live-ann: 1\\nlive-bob: 2\\n"}
"""


class Cluster:
    def __init__(self, kubeconfig):
        self.kubeconfig = kubeconfig

    def kubectl(self, *words, body=None):
        done = subprocess.run(["kubectl", "--kubeconfig", self.kubeconfig, *words], input=body, text=True,
                              capture_output=True, check=False)
        if done.returncode != 0 and "--ignore-not-found" not in words:
            raise RuntimeError(f"kubectl {' '.join(words)}: {done.stderr}")
        return done.stdout

    def apply(self, body):
        self.kubectl("apply", "-f", "-", body=body if isinstance(body, str) else json.dumps(body))

    def pods(self):
        return [pod for pod in json.loads(self.kubectl("get", "pods", "-A", "-o", "json"))["items"]
                if pod["spec"].get("nodeName") in NODES]

    def node(self, name):
        amount = {"cpu": "8", "memory": "64Gi", "pods": "110", "nvidia.com/gpu": str(GPUS)}
        self.apply({"apiVersion": "v1", "kind": "Node",
                    "metadata": {"name": name, "annotations": {"kwok.x-k8s.io/node": "fake"},
                                 "labels": {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}},
                    "status": {"capacity": amount, "allocatable": amount}})

    def job(self, user):
        annotated = {"fieldRef": {"fieldPath": "metadata.annotations['fairlead.dev/gpus']"}}
        container = {"name": "train", "image": "train",
                     "env": [{"name": "NVIDIA_VISIBLE_DEVICES", "valueFrom": annotated}],
                     "resources": {"limits": {"fairlead.dev/gpu-slot": GPUS}, "requests": {"cpu": "100m"}}}
        template = {"metadata": {"annotations": {"bed/stop-after": "3s"}},
                    "spec": {"schedulerName": "fairlead", "restartPolicy": "Never", "containers": [container]}}
        self.apply({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "train", "namespace": user},
                    "spec": {"parallelism": len(NODES), "completions": len(NODES), "completionMode": "Indexed",
                             "template": template}})

    def agents_kubeconfig(self, folder):
        token = self.kubectl("create", "token", "agent", "-n", PLACE, "--duration", "2h").strip()
        config = json.loads(self.kubectl("config", "view", "--raw", "--flatten", "--minify", "-o", "json"))
        config["users"][0]["user"] = {"token": token}
        path = folder / "agent.kubeconfig"
        path.write_text(json.dumps(config), encoding="utf-8")
        return str(path)


def mount_of(version):
    wanted = "cgroup2" if version == "v2" else "cgroup"
    for line in pathlib.Path("/proc/mounts").read_text(encoding="utf-8").splitlines():
        _, folder, kind, options, *_ = line.split()
        if kind == wanted and (version == "v2" or "freezer" in options.split(",")):
            return pathlib.Path(folder)
    sys.exit(f"no cgroups {version} with a freezer are mounted here")


class Kubelets(threading.Thread):
    """Returns the processes of the running pods, of all nodes."""

    def __init__(self, cluster, version, folder):
        super().__init__(daemon=True)
        self.cluster, self.version, self.folder = cluster, version, folder
        self.root = mount_of(version) / f"fairlead-live-{os.getpid()}"
        self.workers = {}  # by uid of the pod
        self.ends = False

    def cgroup(self, uid, node=None):
        machine = self.root / (node or self.workers[uid]["node"])
        if self.version == "v1":
            return machine / "kubepods" / "burstable" / f"pod{uid}"
        name = f"kubepods-burstable-pod{uid.replace('-', '_')}.slice"
        return machine / "kubepods.slice" / "kubepods-burstable.slice" / name

    def run(self):
        while not self.ends:
            with contextlib.suppress(RuntimeError):  # for instance if the API server is busy
                self.look()
            time.sleep(0.3)

    def look(self):
        pods = {pod["metadata"]["uid"]: pod for pod in self.cluster.pods()}
        for uid, pod in pods.items():
            is_leaving = "deletionTimestamp" in pod["metadata"]
            if uid not in self.workers and pod["status"].get("phase") == "Running" and not is_leaving:
                self.begin(uid, pod)
        for uid, worker in self.workers.items():
            if (uid not in pods or "deletionTimestamp" in pods[uid]["metadata"]) and not worker["asked"]:
                worker["asked"] = time.monotonic()
                worker["process"].terminate()

    def begin(self, uid, pod):
        worker = {"user": pod["metadata"]["namespace"], "counted": self.folder / uid, "asked": None,
                  "node": pod["spec"]["nodeName"], "gpus": pod["metadata"]["annotations"].get("fairlead.dev/gpus")}
        cgroup = self.cgroup(uid, worker["node"]) / "container"
        cgroup.mkdir(parents=True)
        worker["process"] = subprocess.Popen(  # pylint: disable=consider-using-with,subprocess-popen-preexec-fn
            [sys.executable, "-c", WORKER, str(worker["counted"])],
            preexec_fn=lambda: (cgroup / "cgroup.procs").write_text("0", encoding="utf-8"))
        self.workers[uid] = worker

    def is_frozen(self, uid):
        if self.version == "v1":
            return (self.cgroup(uid) / "freezer.state").read_text(encoding="utf-8").strip() != "THAWED"
        return (self.cgroup(uid) / "cgroup.freeze").read_text(encoding="utf-8").strip() == "1"

    def frozen(self, node=None):
        return {uid for uid, worker in self.workers.items()
                if worker["process"].poll() is None and node in (None, worker["node"]) and self.is_frozen(uid)}

    def work(self):
        done = dict.fromkeys(USERS, 0.0)
        for worker in self.workers.values():
            with contextlib.suppress(FileNotFoundError, IndexError):
                lines = worker["counted"].read_text(encoding="utf-8").splitlines()
                done[worker["user"]] += float(lines[-1].split()[0])
        return done

    def end(self):
        self.ends = True
        self.join()
        for uid, worker in self.workers.items():
            state = self.cgroup(uid) / ("freezer.state" if self.version == "v1" else "cgroup.freeze")
            state.write_text("THAWED" if self.version == "v1" else "0", encoding="utf-8")
            worker["process"].kill()
            worker["process"].wait()
        for path, _, _ in os.walk(self.root, topdown=False):
            os.rmdir(path)


class Trial:
    def __init__(self, options):
        self.options = options
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.cluster = Cluster(options.kubeconfig)
        self.kubelets = Kubelets(self.cluster, options.cgroups, self.folder)
        self.programs = {}
        self.has_failed = False

    def start(self, name, kubeconfig, *words):
        log = (self.folder / f"{name}.log").open("a", encoding="utf-8")
        self.programs[name] = subprocess.Popen(  # pylint: disable=consider-using-with
            [self.options.program, *words], stdout=log, stderr=log,
            env={**os.environ, "KUBECONFIG": str(kubeconfig)})

    def start_scheduler(self):
        self.start("scheduler", self.options.kubeconfig, "serve", "--backend", "kubernetes",
                   "--namespace", PLACE, "--policy", f"gandiva-fair:quantum_s={self.options.quantum},resident=true")

    def start_agent(self, node):
        self.start(node, self.agents, "agent", "--node", node, "--slots-per-gpu", "2", "--namespace", PLACE,
                   "--cgroup-root", str(self.kubelets.root / node))

    def stop(self, name, how=signal.SIGTERM):
        program = self.programs.pop(name)
        program.send_signal(how)
        program.wait(20)

    def tell(self, what, is_good):
        print(f"{'ok  ' if is_good else 'FAIL'} {what}", flush=True)
        self.has_failed |= not is_good

    def until(self, what, is_so, limit):
        start = time.monotonic()
        while not is_so() and time.monotonic() < start + limit:
            time.sleep(0.1)
        self.tell(f"{what} ({time.monotonic() - start:.1f} s)", is_so())

    def set_up(self):
        for space in (PLACE, *USERS):
            self.cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}})
        self.cluster.apply(RIGHTS % {"place": PLACE})
        for node in NODES:
            self.cluster.node(node)
        self.agents = self.cluster.agents_kubeconfig(self.folder)
        for node in NODES:
            (self.kubelets.root / node).mkdir(parents=True)
        self.kubelets.start()
        for node in NODES:
            self.start_agent(node)

        def slots():
            nodes = json.loads(self.cluster.kubectl("get", "nodes", *NODES, "-o", "json"))["items"]
            return [node["status"]["allocatable"].get("fairlead.dev/gpu-slot") for node in nodes]
        self.until("agents offer slots", lambda: slots() == [str(2 * GPUS)] * len(NODES), 20)
        self.start_scheduler()
        for user in USERS:
            self.cluster.job(user)
        self.until("both gangs are resident", lambda: len(self.kubelets.workers) == 2 * len(NODES), 60)

    def turns(self, what, length, limit):
        before, start = self.kubelets.work(), time.monotonic()
        time.sleep(length)
        passed = time.monotonic() - start
        done = {user: now - before[user] for user, now in self.kubelets.work().items()}
        total = sum(done.values())
        share = done["live-bob"] / total
        error = abs(share / (2 / 3) - 1)
        self.tell(f"{what}: share of 2 of 3 tickets is {share:.4f} (off by {100 * error:.1f} %) in {passed:.0f} s; "
                  f"{100 * total / passed / len(NODES):.1f} % of the time is worked", error <= limit)

    def run(self):
        self.set_up()
        time.sleep(2 * self.options.quantum)
        first = set(self.kubelets.workers)
        self.tell("pods were told their GPUs",
                  {worker["gpus"] for worker in self.kubelets.workers.values()} == {"0,1"})
        self.turns("turns of 1:2", self.options.seconds, 0.03)

        self.stop(NODES[0], signal.SIGKILL)
        time.sleep(5)
        self.start_agent(NODES[0])
        self.turns("after SIGKILL of an agent for 5 s", self.options.seconds / 3, 0.1)

        self.until("something is frozen", self.kubelets.frozen, 20)
        self.stop("scheduler", signal.SIGKILL)
        self.until("SIGKILL of the scheduler: nothing stays frozen", lambda: not self.kubelets.frozen(), 90)
        self.start_scheduler()
        self.until("another scheduler: one gang rests again", self.kubelets.frozen, 60)
        self.turns("turns of 1:2 after that", self.options.seconds / 3, 0.1)
        self.tell("no process was started twice", set(self.kubelets.workers) == first)

        self.until("something is frozen", self.kubelets.frozen, 20)
        uid = next(iter(self.kubelets.frozen()))
        worker = self.kubelets.workers[uid]
        self.cluster.kubectl("delete", "job", "train", "-n", worker["user"], "--wait=false")
        self.until("a Job that rests is deleted: its processes end in their grace period",
                   lambda: worker["process"].poll() == 0 and worker["counted"].read_text().endswith("left\n"), 10)

        self.cluster.job(worker["user"])
        self.until("it is back, and takes turns", lambda: len(self.kubelets.workers) > len(first)
                   and self.kubelets.frozen(NODES[0]), 60)
        self.stop(NODES[0])
        self.tell("an agent that is asked to leave thaws its node", not self.kubelets.frozen(NODES[0]))

    def tear_down(self):
        for name in list(self.programs):
            self.stop(name)
        for user in USERS:
            self.cluster.kubectl("delete", "job", "train", "-n", user, "--ignore-not-found", "--wait=false")
        self.kubelets.end()
        # Their pods go before the nodes, because a node's kubelet is played only while the node exists.
        self.cluster.kubectl("delete", "namespace", PLACE, *USERS, "--ignore-not-found", "--timeout=60s")
        self.cluster.kubectl("delete", "node", *NODES, "--ignore-not-found")
        self.cluster.kubectl("delete", "clusterrole,clusterrolebinding", "live-fairlead-agent", "--ignore-not-found")
        if self.has_failed:
            print(f"logs are in {self.folder}")
        else:
            shutil.rmtree(self.folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/dev/fairlead")
    parser.add_argument("--kubeconfig", default=os.environ.get("KUBECONFIG"), help="of an administrator")
    parser.add_argument("--seconds", type=float, default=180)
    parser.add_argument("--quantum", type=int, default=2)
    parser.add_argument("--cgroups", choices=("v1", "v2"), default="v2")
    trial = Trial(parser.parse_args())
    try:
        trial.run()
    finally:
        trial.tear_down()
    sys.exit(trial.has_failed)


if __name__ == "__main__":
    main()
