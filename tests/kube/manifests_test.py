#!/usr/bin/env python3
"""The chart's manifests equal the ones of deploy/kustomize. Exit 77: helm or kubectl is missing."""

import json
import os
import shutil
import subprocess
import sys

DEPLOY = os.path.join(os.path.dirname(__file__), "..", "..", "deploy")


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def objects(text):
    """By kind and name, as kubectl reads them."""
    import yaml

    return {
        (each["kind"], each["metadata"]["name"]): each for each in yaml.safe_load_all(text) if each
    }


def differences(helm, overlay, *flags):
    chart = objects(
        output(helm, "template", "fairlead", os.path.join(DEPLOY, "helm", "fairlead"), *flags)
    )
    base = objects(output("kubectl", "kustomize", os.path.join(DEPLOY, "kustomize", overlay)))
    for name in sorted(set(chart) | set(base)):
        if chart.get(name) != base.get(name):
            yield f"{name}: the chart has {json.dumps(chart.get(name))}, kustomize {json.dumps(base.get(name))}"


def main():
    helm = os.environ.get("HELM") or shutil.which("helm")
    if not helm or not shutil.which("kubectl"):
        print("skipped: no helm, or no kubectl")
        return 77
    try:
        import yaml  # noqa: F401
    except ImportError:
        print("skipped: no python3-yaml")
        return 77
    found = list(differences(helm, "base"))
    found += list(differences(helm, "agent", "--set", "agent.enabled=true"))
    found += list(differences(helm, "network", "--set", "networkPolicy.enabled=true"))
    found += list(differences(helm, "monitor", "--set", "monitor.enabled=true"))
    found += list(differences(helm, "kueue", "--set", "backend=kueue"))
    found += list(differences(helm, "slots", "--set", "agent.enabled=true,agent.slotsPerGpu=2"))
    tickets = output(
        helm, "template", "fairlead", os.path.join(DEPLOY, "helm", "fairlead"),
        "-f", os.path.join(DEPLOY, "helm", "sample-tickets.yaml"),
    )
    data = objects(tickets)[("ConfigMap", "fairlead")]["data"]
    if data != {"tickets": "speech: 2\nvision: 3"}:
        found.append(f"tickets: {data}")
    agent = output(
        helm, "template", "fairlead", os.path.join(DEPLOY, "helm", "fairlead"),
        "--set", "namespace=gpus,agent.enabled=true,agent.slotsPerGpu=3",
    )
    args = objects(agent)[("DaemonSet", "fairlead-agent")]["spec"]["template"]["spec"]["containers"][0]["args"]
    if args[1:] != ["--node=$(NODE)", "--namespace=gpus", "--slots-per-gpu=3"]:
        found.append(f"the agent is started with {args}")
    levels = output(
        helm, "template", "fairlead", os.path.join(DEPLOY, "helm", "fairlead"), "--set", "levels={zone,rack}",
    )
    args = objects(levels)[("Deployment", "fairlead")]["spec"]["template"]["spec"]["containers"][0]["args"]
    if "--levels=zone,rack" not in args:
        found.append(f"with levels, the scheduler is started with {args}")
    queues = output(
        helm, "template", "fairlead", os.path.join(DEPLOY, "helm", "fairlead"), "--set", "backend=kueue,queues={a,b}",
    )
    args = objects(queues)[("Deployment", "fairlead")]["spec"]["template"]["spec"]["containers"][0]["args"]
    if args[1:4] != ["--backend=kueue", "--queue=a", "--queue=b"]:
        found.append(f"with queues, the scheduler is started with {args}")
    for wrong in ("replicas=none", "backend=local", "priorityScope=all", "agent.slots=2"):
        told = subprocess.run(
            [helm, "template", "fairlead", os.path.join(DEPLOY, "helm", "fairlead"), "--set", wrong],
            capture_output=True, text=True,
        )
        if told.returncode == 0:
            found.append(f"the chart takes {wrong}")
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
