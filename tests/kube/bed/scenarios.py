"""Actions of users, operators and kubelets, on a real API server: each scenario is a cluster of its own.

A scenario returns its measurements; AssertionError: a check failed. All of them are judged by the kubelets'
own log: no GPU is used twice, no half gang stays for long, no job is lost.
"""

import json
import time

from api import Api
from bed import Ask, Bed, Judgement, until
from control_plane import free_ports
from measure import Holds, gpu_time

FACTOR = 60
HALF_GANG_LIMIT_S = 5  # real; a fault may leave half a gang until the server is back
SETTINGS = ["models=slides", "reference_gpu=V100"]


def gangs(count=6, users=("ann", "bob"), pods=2, gpus=8, work_s=300.0, model="GRU", **more):
    return [Ask(f"j{row}", users[row % len(users)], pods, gpus, work_s, model, time_s=work_s / FACTOR, **more)
            for row in range(count)]


def submit(bed, asks):
    for user in {ask.user for ask in asks}:
        bed.name_space(user)
    for ask in asks:
        bed.submit(ask)


def done_of(bed):
    return {line["job"] for line in bed.history() if line["what"] == "done"}


def await_done(bed, asks, limit_s=240):
    names = {f"{ask.user}/{ask.name}" for ask in asks}
    until(lambda: names <= done_of(bed), limit_s, lambda: f"done: {names - done_of(bed)}", pause_s=0.3)


def judge(bed, asks, half_limit_s=HALF_GANG_LIMIT_S, refused=0, has_rights=True):
    history = bed.history()
    found = Judgement(history, bed.gpus_of_node(), asks)
    assert not found.twice, "GPUs were held twice"
    assert not found.lost, f"jobs are lost: {found.lost}"
    assert found.longest_half_s <= half_limit_s, f"half a gang held GPUs for {found.longest_half_s} s"
    assert found.refused <= refused, f"{found.refused} pods were refused"
    said = [line for name, one in bed.plane.processes.items() if name.startswith("fairlead") for line in one.said().splitlines()]
    assert not (has_rights and any("missing RBAC permission" in line for line in said)), said
    return {"jobs": len(asks), "done": len(found.done), "half_gang_s": found.longest_half_s, "refused": found.refused,
            "begins": sum(line["what"] == "begins" for line in history)}


def progress_is_kept(bed, ask):
    """A gang starts with the progress that it had when it ended."""
    had, name = 0.0, f"{ask.user}/{ask.name}"
    for line in bed.history():
        if line.get("job") == name and line["what"] == "ends":
            had = line["progress"]
        elif line.get("job") == name and line["what"] == "begins":
            assert abs(line["progress"] - had) < 0.01, (name, had, line)


# --- Users ----------------------------------------------------------------------------------------


def takes_turns(policy, **more):
    asks = gangs(**more)
    with Bed("2xV100:8,2xK80:8", SETTINGS, FACTOR) as bed:
        bed.fairlead(policy)
        start = time.monotonic()
        submit(bed, asks)
        await_done(bed, asks)
        return {**judge(bed, asks), "took_s": time.monotonic() - start}


def gandiva_fair():
    """Gangs of two pods under gandiva-fair, by turns."""
    return takes_turns("gandiva-fair:quantum_s=4")


def fairlead():
    """Gangs of two pods under fairlead."""
    return takes_turns("fairlead:window_s=10,round_s=4,switch_s=1")


def tiresias():
    """Gangs of two pods under tiresias."""
    return takes_turns("tiresias:limits=100/400")


def hadar():
    """Gangs of two pods under hadar."""
    return takes_turns("hadar:round_s=6,switch_s=1")


def dally():
    """Gangs of two pods under dally, which waits for GPUs close together."""
    return takes_turns("dally:node_s=2,rack_s=4,least_s=1", pods=2, gpus=4)


def own_suspension():
    """A user suspends a running Job, which frees its GPUs and is held, and lets it go on."""
    held, other = gangs(2, work_s=600.0)
    with Bed("2xV100:8", SETTINGS, FACTOR) as bed:
        bed.fairlead("fifo:skip=true")
        submit(bed, [held])
        until(lambda: bed.nodes_of(held), 30, "it runs")
        submit(bed, [other])
        start = time.monotonic()
        bed.suspend(held, True)
        until(lambda: bed.nodes_of(other), 30, "another has its GPUs")
        handed_s = time.monotonic() - start
        await_done(bed, [other])
        assert not bed.nodes_of(held), "what its user holds does not run"
        start = time.monotonic()
        bed.suspend(held, False)
        until(lambda: bed.nodes_of(held), 30, "it goes on")
        resumed_s = time.monotonic() - start
        await_done(bed, [held])
        progress_is_kept(bed, held)
        return {**judge(bed, [held, other]), "gpus_handed_over_s": handed_s, "resumed_s": resumed_s}


def priorities():
    """A Job leaves its GPUs for one of its user with a higher PriorityClass, has the reason as an event, and comes back."""
    sweep = Ask("sweep", "ann", 2, 8, 900.0, "GRU", priority_class="low")
    deadline = Ask("deadline", "ann", 1, 8, 600.0, "GRU", priority_class="high")
    other = Ask("other", "bob", 1, 8, 600.0, "GRU", priority_class="high")
    with Bed("2xV100:8", SETTINGS, FACTOR) as bed:
        for name, value in (("low", -5), ("high", 1000)):
            bed.api.do("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": name}, "value": value})
        bed.fairlead("fifo:skip=true")
        submit(bed, [sweep])
        until(lambda: bed.nodes_of(sweep), 30, "it runs")
        submit(bed, [other])
        time.sleep(2)
        assert bed.nodes_of(sweep) and not bed.nodes_of(other), "priorities do not count among users"
        submit(bed, [deadline])
        start = time.monotonic()
        until(lambda: bed.nodes_of(deadline), 30, "the higher class has GPUs")
        first_s = time.monotonic() - start
        words = "it starts after ann/deadline, which has a higher priority"
        until(lambda: any(words in event.get("note", "") for event in bed.api.list("/apis/events.k8s.io/v1/namespaces/ann/events")),
              40, "the reason is an event")
        await_done(bed, [deadline, sweep, other])
        progress_is_kept(bed, sweep)
        return {**judge(bed, [sweep, deadline, other]), "first_s": first_s}


def leaving():
    """Fairlead leaves a cluster: the Jobs that it suspended are resumed, and the user's suspension stays."""
    asks = gangs(4, pods=1, work_s=30000.0)
    own = Ask("own", "ann", 1, 8, 600.0, "GRU")
    with Bed("1xV100:8", SETTINGS, FACTOR) as bed:
        scheduler = bed.fairlead("gandiva-fair:quantum_s=2")
        submit(bed, asks)
        until(lambda: any(line["what"] == "begins" for line in bed.history()), 30, "one runs")
        submit(bed, [own])
        bed.suspend(own, True)
        is_suspended = lambda ask: bed.job(ask)["spec"].get("suspend", False)
        until(lambda: sum(map(is_suspended, asks)) == 3, 60, "three are suspended")
        scheduler.stop()
        before = sum(map(is_suspended, asks))
        resumed = bed.uninstall().count("resumed ")
        assert before == resumed and before > 0, (before, resumed)
        assert not any(map(is_suspended, asks)) and is_suspended(own)
        return {"resumed": resumed}


def tickets():
    """Tickets are edited while gangs run: from one each to three for ann."""
    asks = gangs(4, work_s=30000.0)
    with Bed("2xV100:8", SETTINGS, FACTOR) as bed:
        bed.fairlead("gandiva-fair:quantum_s=2")
        submit(bed, asks)
        until(lambda: any(line["what"] == "begins" for line in bed.history()), 30, "one runs")
        time.sleep(2)
        before_ms = time.time() * 1000
        time.sleep(24)
        edited_ms = time.time() * 1000
        bed.tell({"ann": 3})
        time.sleep(32)
        end_ms = time.time() * 1000
        history = bed.history()

        def share(begin_ms, end_ms):
            held = Holds(history, 1, begin_ms).held
            each = [gpu_time(held, 0, (end_ms - begin_ms) / 1000, user) for user in ("ann", "bob")]
            return each[0] / sum(each)

        before, after = share(before_ms, edited_ms), share(edited_ms, end_ms)
        assert abs(before - 1 / 2) < 0.1 and abs(after - 3 / 4) < 0.1, (before, after)
        found = judge(bed, [])
        return {**found, "share_of_ann_1_to_1": before, "share_of_ann_3_to_1": after}


def described():
    """`kubectl describe` shows the events of a Job."""
    asks = gangs(2, work_s=600.0)
    refused = Ask("none", "ann", 1, 0, 60.0)
    with Bed("2xV100:8", SETTINGS, FACTOR) as bed:
        bed.fairlead("gandiva-fair:quantum_s=3")
        submit(bed, [*asks, refused])
        await_done(bed, asks)
        text = bed.kubectl("describe", "job", "-n", asks[0].user, asks[0].name)
        for word in ("Placed", "1 pod on n0, 1 pod on n1", "Suspended", "its turn is over"):
            assert word in text, (word, text)
        why = bed.kubectl("describe", "job", "-n", "ann", "none")
        assert "Refused" in why and "ask for no" in why, why
        return judge(bed, asks)


def forecast():
    """`fairlead when` and `whatif` simulate the present policy on the present Jobs and on a manifest, with their declared times."""
    first = Ask("first", "ann", 2, 8, 36000.0, "GRU", time_s=600)
    second = Ask("second", "bob", 2, 8, 600.0, "GRU", time_s=60)
    with Bed("2xV100:8", SETTINGS, FACTOR) as bed:
        port = free_ports(1)[0]
        bed.fairlead("fifo:skip=true", port=port)
        when = lambda *what: json.loads(bed.client("when", *what, "--http", f"127.0.0.1:{port}", "--json"))
        submit(bed, [first])
        until(lambda: bed.nodes_of(first), 30, "the first runs")
        bed.name_space(second.user)
        file = bed.plane.dir / "second.json"
        file.write_text(json.dumps(second.manifest() | {"metadata": second.manifest()["metadata"] | {"namespace": "bob"}}))
        planned = when("-f", file)
        assert bed.api.ask("GET", "/apis/batch/v1/namespaces/bob/jobs/second")[0] == 404, "a forecast creates nothing"
        submit(bed, [second])
        running, waiting = when("ann/first"), when("bob/second")
        assert planned["name"] == "bob/second" and abs(planned["start_s"] - waiting["start_s"]) < 60, (planned, waiting)
        assert running["name"] == "ann/first" and running["start_s"] == 0, running
        assert 0 < running["end_s"] <= 700 and abs(waiting["start_s"] - running["end_s"]) < 60, (running, waiting)
        assert 60 <= waiting["end_s"] - waiting["start_s"] < 180, waiting
        text = bed.client("when", "bob/second", "--http", f"127.0.0.1:{port}")
        assert text.startswith("bob/second starts in ") and "as declared" in text, text
        outcomes = json.loads(bed.client(
            "whatif", "--from", "kubernetes", "--http", f"127.0.0.1:{port}", "--policy", "sjf", "--json"))["policies"]
        assert [(one["policy"].split(":")[0], one["runs_now"]) for one in outcomes] == [("fifo", True), ("sjf", False)], outcomes
        return {"start_s": waiting["start_s"]}


def keeps_its_budget(is_named):
    """Gangs take turns; one stays while its budget does not let it stop. Returns how it was let go."""
    kept, other = Ask("kept", "ann", 2, 8, 900.0, "GRU", is_named=is_named), Ask("other", "bob", 2, 8, 300.0, "GRU")
    stops = lambda: [line for line in bed.history() if line["what"] == "stopped" and line["pod"].startswith("ann/kept-")]
    with Bed("2xV100:8", SETTINGS, FACTOR) as bed:
        bed.fairlead("gandiva-fair:quantum_s=3")
        submit(bed, [kept])
        until(lambda: bed.nodes_of(kept), 30, "it runs")
        bed.budget(kept, 2)
        submit(bed, [other])
        time.sleep(12)  # four turns
        assert not stops() and not bed.nodes_of(other), (stops(), bed.nodes_of(other))
        bed.budget(kept, 0)
        start = time.monotonic()
        until(lambda: bed.nodes_of(other), 60, "the other has its turn")
        handed_s = time.monotonic() - start
        assert len(stops()) == 2, stops()
        was_suspended = any(c["type"] == "Suspended" for c in bed.job(kept)["status"].get("conditions", []))
        assert was_suspended != is_named, bed.job(kept)
        await_done(bed, [kept, other])
        progress_is_kept(bed, kept)
        return {**judge(bed, [kept, other]), "gpus_handed_over_s": handed_s}


def budget_and_suspension():
    """A PodDisruptionBudget keeps a Job on its GPUs; once it lets it go, the Job is suspended in turn."""
    return keeps_its_budget(is_named=False)


def budget_and_eviction():
    """A PodDisruptionBudget keeps pods that name their gang; later they are evicted, created again and go on."""
    return keeps_its_budget(is_named=True)


def unequal_pods():
    """Pods with 4 GPUs and 1 are one gang: the small ones share a node, and the next leader finds it in place."""
    pods = "/api/v1/namespaces/ann/pods"
    sizes = {"learner": 4} | {f"player-{row}": 1 for row in range(4)}
    marks = {"fairlead.dev/gang": "game", "fairlead.dev/gang-size": str(len(sizes))}
    nodes = lambda: {pod["metadata"]["name"]: pod["spec"].get("nodeName") for pod in bed.api.list(pods)}
    with Bed("2xV100:4", SETTINGS, FACTOR) as bed:
        leader = bed.fairlead("fifo:skip=true")
        bed.name_space("ann")
        start = time.monotonic()
        for name, gpus in sizes.items():
            bed.api.do("POST", pods, {"metadata": {"name": name, "annotations": marks}, "spec": {
                "schedulerName": "fairlead", "restartPolicy": "Never",
                "containers": [{"name": "train", "image": "train", "resources": {"limits": {"nvidia.com/gpu": str(gpus)}}}]}})
        until(lambda: all(nodes().values()), 30, lambda: f"all are bound: {nodes()}")
        bound_s = time.monotonic() - start
        where = nodes()
        assert {where[name] for name in sizes if name != "learner"} == {"n0", "n1"} - {where["learner"]}, where
        leader.stop()
        port = free_ports(1)[0]
        bed.fairlead("fifo:skip=true", port=port)
        listed = lambda: json.loads(bed.client("ps", "--from", "kubernetes", "--http", f"127.0.0.1:{port}", "--json"))
        state = lambda: [job["state"] for job in listed()["jobs"]]
        until(lambda: state() == ["running"], 30, lambda: f"it is found in place: {state()}")
        assert nodes() == where, (nodes(), where)
        return {"bound_s": bound_s}


def measured_speeds():
    """Agents measure two models on two GPU types from the output of pods; the next leader and policy know the speeds."""
    asks = [Ask(f"{model.lower()}-{row}", "ann", 1, 2, 1e6, model) for row in range(2) for model in ("DCGAN", "VAE")]
    gains = {"DCGAN": 6.42, "VAE": 1.25}  # of a V100 against a K80, in the table `slides`
    with Bed("1xV100:4,1xK80:4", ["models=slides", "reference_gpu=K80"], factor=5) as bed:
        first, second = free_ports(2)
        leader = bed.fairlead("fifo:skip=true", port=first)
        bed.agents()
        submit(bed, asks)
        start = time.monotonic()
        until(lambda: len(bed.learned(first)) == 4, 120, lambda: f"all is measured: {bed.learned(first)}", pause_s=0.5)
        measured_s = time.monotonic() - start
        learned = bed.learned(first)
        found = {model: learned["ann", model, "V100"] / learned["ann", model, "K80"] for model in gains}
        for model, gain in gains.items():
            assert abs(found[model] / gain - 1) < 0.05, found
        writes = [pod["metadata"]["annotations"]["fairlead.dev/progress"] for ask in asks for pod in bed.pods(ask)]
        leader.stop()
        bed.fairlead("gandiva-fair", port=second)
        again = bed.learned(second)
        assert all(abs(again[key] / speed - 1) < 0.05 for key, speed in learned.items()), (learned, again)
        assert not Judgement(bed.history(), bed.gpus_of_node(), asks).twice, "GPUs were held twice"
        assert not any("RBAC" in one.said() for one in bed.plane.processes.values()), "a right is missing"
        return {"measured_s": measured_s, "gains": found, "annotations": writes}


def agent_rights():
    """An agent changes its own node and Fairlead's annotations of the pods on it, and nothing else."""
    asks = [Ask(f"job-{row}", "ann", 1, 8, 1e6, "GRU") for row in range(2)]
    with Bed("2xV100:8", SETTINGS, factor=FACTOR) as bed:
        bed.fairlead("fifo:skip=true")
        submit(bed, asks)
        until(lambda: all(pod["spec"].get("nodeName") for ask in asks for pod in bed.pods(ask)), 30, "the Jobs run")
        here, there = sorted((pod for ask in asks for pod in bed.pods(ask)), key=lambda pod: pod["spec"]["nodeName"])
        agent = Api(bed.plane, token=bed.agent_token("n0"))

        def tries(path, change, kind="merge-patch"):
            return agent.ask("PATCH", path, change, f"application/{kind}+json")

        def pod_path(pod):
            return f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"

        report = {"metadata": {"annotations": {"fairlead.dev/runs": "yes"}}}
        # The policy takes effect some seconds after it was made.
        until(lambda: tries(pod_path(there), report)[0] >= 400, 30, "the policy is in effect")
        allowed = [(pod_path(here), report),
                   ("/api/v1/nodes/n0/status", {"status": {"capacity": {"fairlead.dev/slot": "16"}}})]
        denied = [(pod_path(there), report),
                  (pod_path(here), {"metadata": {"annotations": {"cluster-autoscaler.kubernetes.io/safe-to-evict": "true"}}}),
                  (pod_path(here), {"metadata": {"labels": {"job-name": "of-another"}}}),
                  (pod_path(here), {"spec": {"activeDeadlineSeconds": 1}}),
                  ("/api/v1/nodes/n1/status", {"status": {"capacity": {"fairlead.dev/slot": "16"}}})]
        for path, change in allowed:
            status, told = tries(path, change)
            assert status == 200, (path, change, told)
        for path, change in denied:
            status, told = tries(path, change)
            assert status in (403, 422) and "an agent changes only" in told["message"], (path, change, status, told)
        # Without an agent, the scheduler itself changes no pod.
        scheduler = Api(bed.plane, token=bed.plane.token)
        status, told = scheduler.ask("PATCH", pod_path(here), report, "application/merge-patch+json")
        assert status == 403, told
        return {"allowed": len(allowed), "denied": len(denied) + 1}


# --- Operators and nodes --------------------------------------------------------------------------


def moves_to_another_type():
    """A node of V100 is emptied by kubectl cordon: gangs that had turns there go on on one of K80."""
    asks = gangs(2, pods=1, work_s=900.0)
    with Bed("1xV100:8,1xK80:8", SETTINGS, FACTOR) as bed:
        bed.fairlead("gandiva-fair:quantum_s=3")
        bed.kubectl("cordon", "n1")
        submit(bed, asks)
        began = lambda node: [line for line in bed.history() if line["what"] == "begins" and node in line["nodes"]]
        until(lambda: len({line["job"] for line in began("n0")}) == 2, 60, "both had a turn on V100")
        bed.kubectl("uncordon", "n1")
        bed.kubectl("cordon", "n0")
        start = time.monotonic()
        until(lambda: began("n1"), 60, "one goes on on K80")
        moved_s = time.monotonic() - start
        moved = began("n1")[0]
        assert moved["place"] == "migrate" and moved["progress"] > 0 and moved["speed"] < 0.5, moved
        bed.kubectl("uncordon", "n0")
        await_done(bed, asks)
        for ask in asks:
            progress_is_kept(bed, ask)
        return {**judge(bed, asks), "moved_s": moved_s, "moves": sum(line.get("place") == "migrate" for line in bed.history())}


def foreign_pods():
    """A pod of another scheduler takes GPUs: fairlead keeps off them until it is gone."""
    asks = gangs(2, pods=1, gpus=8, work_s=600.0)
    with Bed("2xV100:8", SETTINGS, FACTOR) as bed:
        bed.foreign_pod("theirs", "n0", 4)
        until(lambda: any(line["what"] == "admitted" for line in bed.history()), 30, "it runs")
        bed.fairlead("fifo:skip=true")
        submit(bed, asks)
        until(lambda: any(bed.nodes_of(ask) for ask in asks), 30, "one runs")
        time.sleep(3)
        assert [bed.nodes_of(ask) for ask in asks if bed.nodes_of(ask)] == [["n1"]]
        start = time.monotonic()
        bed.api.do("DELETE", "/api/v1/namespaces/others/pods/theirs")
        until(lambda: all(bed.nodes_of(ask) for ask in asks), 30, "both run")
        used_s = time.monotonic() - start
        await_done(bed, asks)
        return {**judge(bed, asks), "gpus_used_again_s": used_s}


def node_down_and_up():
    """A node is lost: its gang goes on elsewhere from a checkpoint, and the node is used again."""
    asks = gangs(2, pods=2, gpus=8, work_s=1200.0)
    with Bed("5xV100:8", SETTINGS, FACTOR) as bed:
        bed.fairlead("fifo:skip=true")
        submit(bed, asks)
        until(lambda: all(bed.nodes_of(ask) for ask in asks), 30, "both run")
        lost = bed.nodes_of(asks[0])[0]
        start = time.monotonic()
        bed.mark_node(lost, "bed/down", "true")
        until(lambda: bed.nodes_of(asks[0]) and lost not in bed.nodes_of(asks[0]), 90, "it runs elsewhere")
        elsewhere_s = time.monotonic() - start
        bed.mark_node(lost, "bed/down", None)
        until(lambda: bed.is_ready(), 60, "the node is back")
        more = Ask("more", "ann", 1, 8, 300.0, "GRU")
        submit(bed, [more])
        until(lambda: bed.nodes_of(more), 60, "the node is used again")
        await_done(bed, [*asks, more])
        return {**judge(bed, [*asks, more], half_limit_s=elsewhere_s + 5), "runs_elsewhere_s": elsewhere_s}


def refused_by_a_kubelet():
    """A node offers GPUs that its kubelet does not have: a start fails, and the job runs later."""
    asks = gangs(2, pods=1, gpus=8, work_s=900.0, retries=6)
    with Bed("1xV100:8", SETTINGS, FACTOR) as bed:
        offer = lambda gpus: bed.api.do("PATCH", "/api/v1/nodes/n0/status", {"status": {
            kind: {"nvidia.com/gpu": str(gpus)} for kind in ("capacity", "allocatable")}}, "application/merge-patch+json")
        offer(16)
        bed.fairlead("fifo:skip=true")
        submit(bed, asks)
        until(lambda: any(line["what"] == "refused" for line in bed.history()), 30, "a pod is refused")
        offer(8)
        await_done(bed, asks)
        found = judge(bed, asks, refused=20)
        assert found["refused"] >= 1
        return found


SCENARIOS = (
    fairlead, gandiva_fair, tiresias, hadar, dally, own_suspension, priorities, leaving, tickets, described, forecast,
    budget_and_suspension, budget_and_eviction, unequal_pods, moves_to_another_type, foreign_pods, node_down_and_up, refused_by_a_kubelet,
    measured_speeds, agent_rights)
