"""A thousand nodes: the rate of binding gangs, the limit of a bare client, and a change of leaders."""

import json
import subprocess
import time

from bed import Ask, Bed, Settings, until
from measure import percentile

NODES, GANGS, PODS = 1000, 1250, 4  # two gangs fill a node


def pods_of(bed):
    """Returns when each pod was bound, as its kubelet saw it, in Unix milliseconds."""
    return {line["pod"]: line["at_ms"] for line in bed.history() if line["what"] == "admitted"}


def fill(bed, count, scheduler="fairlead", prefix="j"):
    """Submits gangs, and waits until all of their pods are there."""
    for user in ("ann", "bob", "cho", "dan"):
        bed.name_space(user)
    for row in range(count):
        bed.submit(Ask(f"{prefix}{row}", ("ann", "bob", "cho", "dan")[row % 4], PODS, 1, scheduler=scheduler))
    until(lambda: len(bed.api.list(f"/api/v1/pods?fieldSelector=spec.schedulerName%3D{scheduler}")) >= count * PODS,
          600, "all pods are there", pause_s=3)


def bare(nodes, gangs):
    with Bed(f"{nodes}xV100:8", factor=1) as bed:
        fill(bed, gangs, "bare")
        told = subprocess.run([Settings.programs / "fairlead-bare-binder", "bare"], check=True, capture_output=True, text=True,
                              env={"KUBECONFIG": bed.plane.kubeconfig()}).stdout
    return json.loads(told)


def backlog(nodes, gangs, policy):
    """All pods wait before fairlead starts: the rate at which it binds them; then the leader is killed."""
    with Bed(f"{nodes}xV100:8", factor=1) as bed:
        fill(bed, gangs)
        start_ms = time.time() * 1000
        first = bed.fairlead(policy)
        led_ms = time.time() * 1000
        until(lambda: len(pods_of(bed)) >= gangs * PODS, 600, lambda: f"all are bound: {len(pods_of(bed))}", pause_s=1)
        bound = sorted(pods_of(bed).values())
        cpu_s, peak = first.usage()
        second = bed.fairlead(policy, wait=False)
        time.sleep(3)
        before_s = second.usage()[0]
        first.kill()
        killed = time.monotonic()
        until(lambda: " GPUs on " in second.said(), 60, second.said, 0.05)
        led_s = time.monotonic() - killed
        bed.submit(Ask("late", "ann", PODS, 1))
        until(lambda: any(name.startswith("ann/late-") for name in pods_of(bed)), 60, "it decides", 0.05)
        decided_s = time.monotonic() - killed
        since = [(at - led_ms) / 1000 for at in bound]
        return {"policy": policy, "nodes": nodes, "pods": len(bound), "began_to_lead_s": (led_ms - start_ms) / 1000,
                "first_bound_s": since[0], "half_bound_s": percentile(since, 0.5), "all_bound_s": since[-1],
                "binds_per_s": len(bound) / since[-1], "cpu_s": cpu_s, "memory_mib": peak / 2**20,
                "leader_change_s": led_s, "first_decision_s": decided_s, "recovery_cpu_s": second.usage()[0] - before_s}


def trickle(nodes, gangs, policy):
    """Gangs come one after another: the time from the creation of a pod to its binding."""
    with Bed(f"{nodes}xV100:8", factor=1) as bed:
        process = bed.fairlead(policy)
        bed.name_space("ann")
        asked = {}
        for row in range(gangs):
            asked[f"ann/t{row}"] = time.time() * 1000
            bed.submit(Ask(f"t{row}", "ann", PODS, 1))
            time.sleep(0.05)
        until(lambda: len(pods_of(bed)) >= gangs * PODS, 300, "all are bound", pause_s=1)
        took = [at - asked[name.rsplit("-", 2)[0]] for name, at in pods_of(bed).items()]
        return {"policy": policy, "nodes": nodes, "gangs": gangs, "submitted_to_bound_ms_median": percentile(took, 0.5),
                "submitted_to_bound_ms_p99": percentile(took, 0.99), "cpu_s": process.usage()[0]}


def scale(nodes=NODES, gangs=GANGS, policy="gandiva-fair:quantum_s=600"):
    found = {"bare": bare(nodes, gangs)}
    print(json.dumps(found), flush=True)
    found["backlog"] = backlog(nodes, gangs, policy)
    print(json.dumps(found["backlog"]), flush=True)
    found["trickle"] = trickle(nodes, 200, policy)
    return found
