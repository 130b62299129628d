"""What goes wrong while gangs take turns: the server, its store, its memory, and schedulers themselves."""

import contextlib
import signal
import time

from bed import Bed, until
from scenarios import FACTOR, HALF_GANG_LIMIT_S, SETTINGS, await_done, gangs, judge, submit


@contextlib.contextmanager
def at_work(asks, replicas=1, **plane):
    """Gangs take turns; the fault comes once two have had a turn."""
    with Bed("2xV100:8", SETTINGS, FACTOR, **plane) as bed:
        policy = "gandiva-fair:quantum_s=4"
        programs = [bed.fairlead(policy, again=True)] + [bed.fairlead(policy, wait=False, again=True) for _ in range(replicas - 1)]
        submit(bed, asks)
        until(lambda: sum(line["what"] == "begins" for line in bed.history()) >= 2, 60, "two had a turn")
        yield bed, programs


def after(bed, asks, since, half_limit_s=HALF_GANG_LIMIT_S, has_rights=True):
    """Returns the time from the end of the fault to the next gang that starts, or is done."""
    since_ms = time.time() * 1000 - (time.monotonic() - since) * 1000
    fresh = lambda: [line for line in bed.history() if line["at_ms"] > since_ms and line["what"] in ("begins", "done")]
    until(fresh, 120, "a gang begins")
    goes_on_s = (fresh()[0]["at_ms"] - since_ms) / 1000
    await_done(bed, asks)
    return {**judge(bed, asks, half_limit_s, has_rights=has_rights), "goes_on_s": goes_on_s}


def goes_on(disturb, work_s=600.0, half_limit_s=15, has_rights=True, **plane):
    """Gangs take turns, meet the fault of `disturb(bed, programs)`, and go on once that returns."""
    asks = gangs(work_s=work_s)
    with at_work(asks, **plane) as (bed, programs):
        disturb(bed, programs)
        return after(bed, asks, time.monotonic(), half_limit_s, has_rights)


def server_killed():
    """The API server is killed, and started again after 10 s."""
    def disturb(bed, _):
        bed.plane.processes["kube-apiserver"].kill()
        time.sleep(10)
        bed.plane.processes["kube-apiserver"].start()
        bed.plane.await_ready()
    return goes_on(disturb, has_rights=False)  # it rejects requests before it has read the roles


def server_stopped():
    """The API server is stopped (SIGSTOP) for 10 s: connections stay open, without any answer."""
    def disturb(bed, _):
        bed.plane.processes["kube-apiserver"].signal(signal.SIGSTOP)
        time.sleep(10)
        bed.plane.processes["kube-apiserver"].signal(signal.SIGCONT)
    return goes_on(disturb)


def etcd_restarted():
    """etcd is stopped and started again."""
    def disturb(bed, _):
        bed.plane.processes["etcd"].stop()
        time.sleep(3)
        bed.plane.processes["etcd"].start()
    return goes_on(disturb)


def leader_killed():
    """Kills the leader of two replicas with SIGKILL: the other leads, and running pods go on."""
    asks = gangs(work_s=900.0)
    with at_work(asks, replicas=2) as (bed, programs):
        programs[0].kill()
        since = time.monotonic()
        until(lambda: " GPUs on " in programs[1].said(), 60, lambda: programs[1].said(), pause_s=0.05)
        led_s = time.monotonic() - since
        return {**after(bed, asks, since, half_limit_s=20), "led_again_s": led_s}


def history_forgotten():
    """The server forgets its history while fairlead is stopped: its watches get 410."""
    def disturb(bed, programs):
        version = bed.api.get("/api/v1/pods?limit=1")["metadata"]["resourceVersion"]
        programs[0].signal(signal.SIGSTOP)
        for row in range(60):
            bed.mark_node("n0", "bed/noise", str(row))
            time.sleep(0.1)
        bed.plane.processes["kube-apiserver"].stop()
        bed.plane.processes["kube-apiserver"].start()
        bed.plane.await_ready()
        time.sleep(3)
        status, told = bed.api.ask("GET", f"/api/v1/pods?watch=true&timeoutSeconds=1&resourceVersion={version}")
        assert status == 410 or '"code":410' in str(told).replace(" ", "").replace("'", '"'), (status, str(told)[:500])
        programs[0].signal(signal.SIGCONT)
    return goes_on(disturb, work_s=900.0, half_limit_s=25, api_flags=["--etcd-compaction-interval=2s"])


SCENARIOS = (server_killed, server_stopped, etcd_restarted, leader_killed, history_forgotten)
