"""Turns of Workloads on a real Kueue (see scenarios.py): Kueue admits, kube-scheduler binds, and Fairlead writes
`spec.active` alone."""

import time

from bed import Ask, Bed, until
from kueue import Kueue
from measure import Holds, gpu_time
from scenarios import FACTOR, SETTINGS, await_done, judge, progress_is_kept

QUEUE = "lab"


def on_kube_scheduler(name, user, work_s, gpus=8):
    return Ask(name, user, 1, gpus, work_s, "GRU", scheduler="default-scheduler")


def bed_with_kueue():
    return Bed("1xV100:8", SETTINGS, FACTOR, scheduler=True)


def submit(kueue, asks, priority=None):
    for ask in asks:
        kueue.submit(ask, QUEUE, priority)
    until(lambda: all(kueue.workload(ask) for ask in asks), 30, "Kueue made their Workloads")


def kueue_turns():
    """Three users of one quota of Kueue take turns of 10 s (Kueue's issue 8522): each has a third."""
    asks = [on_kube_scheduler("long", "ann", 1e6), on_kube_scheduler("a", "bob", 1e6, gpus=4),
            on_kube_scheduler("b", "bob", 1e6, gpus=4), on_kube_scheduler("long", "cy", 1e6),
            on_kube_scheduler("next", "cy", 1e6)]
    users = ("ann", "bob", "cy")
    with bed_with_kueue() as bed:
        kueue = Kueue(bed)
        kueue.queue(QUEUE, 8)
        for user in users:
            kueue.user(user, QUEUE)
        bed.fairlead("gang-stride:quantum_s=10,mixed=true", backend="kueue")
        submit(kueue, asks)
        until(lambda: any(line["what"] == "begins" for line in bed.history()), 30,
              lambda: f"one runs: {[kueue.workload(ask) for ask in asks]}")
        begin_ms = time.time() * 1000
        time.sleep(180)
        seconds = time.time() - begin_ms / 1000
        held = Holds(bed.history(), 1, begin_ms).held
        each = {user: gpu_time(held, 0, seconds, user) for user in users}
        shares = {user: had / sum(each.values()) for user, had in each.items()}
        assert all(abs(share - 1 / 3) < 0.05 for share in shares.values()), shares
        return {**judge(bed, []), "shares": shares, "used": sum(each.values()) / (8 * seconds)}


def kueue_preemption():
    """A Workload of a higher WorkloadPriorityClass preempts one under Kueue's rules, which goes on once it is over."""
    low, other, high = (on_kube_scheduler(name, user, work_s) for name, user, work_s in
                        (("low", "ann", 1800.0), ("other", "bob", 300.0), ("high", "cy", 1200.0)))
    with bed_with_kueue() as bed:
        kueue = Kueue(bed)
        kueue.queue(QUEUE, 8, preemption="LowerPriority")
        kueue.priority("urgent", 1000)
        for user in ("ann", "bob", "cy"):
            kueue.user(user, QUEUE)
        bed.fairlead("gang-stride:quantum_s=5,mixed=true", backend="kueue")
        submit(kueue, [low])
        until(lambda: bed.nodes_of(low), 30, "it runs")
        start = time.monotonic()
        submit(kueue, [high], "urgent")
        until(lambda: bed.nodes_of(high), 30, lambda: f"the higher class runs: {kueue.workload(high)}")
        runs_s = time.monotonic() - start
        assert kueue.condition(low, "Evicted") == ("True", "Preempted"), kueue.workload(low)
        submit(kueue, [other])
        time.sleep(8)  # longer than a turn
        assert bed.nodes_of(high), "the higher class is not stopped for turns"
        until(lambda: not kueue.is_active(low) and not kueue.is_active(other), 10, "the others wait for their turns")
        await_done(bed, [high, other, low])
        done = [line["job"] for line in bed.history() if line["what"] == "done"]
        assert done[0] == "cy/high", done
        progress_is_kept(bed, low)
        return {**judge(bed, [low, other, high]), "higher_class_runs_s": runs_s}


def kueue_leaving():
    """Fairlead leaves Kueue: the Workloads that it deactivated are active again, and the user's stays inactive."""
    asks = [on_kube_scheduler(f"j{row}", "ann", 1e6) for row in range(3)]
    own = on_kube_scheduler("own", "ann", 1e6)
    with bed_with_kueue() as bed:
        kueue = Kueue(bed)
        kueue.queue(QUEUE, 8)
        kueue.user("ann", QUEUE)
        scheduler = bed.fairlead("fifo:skip=true", backend="kueue")
        submit(kueue, [*asks, own])
        until(lambda: sum(not kueue.is_active(ask) for ask in [*asks, own]) == 3, 30, "one runs, and three wait")
        mine = kueue.workload(own)["metadata"]["name"]
        # A suspension without Fairlead's mark is the user's.
        bed.api.patch(f"/apis/kueue.x-k8s.io/v1beta1/namespaces/ann/workloads/{mine}",
                      {"metadata": {"annotations": {"fairlead.dev/suspended-by": None}}, "spec": {"active": False}})
        scheduler.stop()
        told = bed.uninstall(backend="kueue")
        assert all(kueue.is_active(ask) for ask in asks) and not kueue.is_active(own), told
        return {"resumed": told.count("resumed ")}


SCENARIOS = (kueue_turns, kueue_preemption, kueue_leaving)
