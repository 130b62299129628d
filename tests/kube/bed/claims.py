"""What pods claim: volumes, and GPUs by dynamic resource allocation."""

import time

from bed import Ask, Bed, until
from scenarios import FACTOR, SETTINGS, await_done, judge, submit

# --- Volumes --------------------------------------------------------------------------------------

VOLUMES = "/api/v1/persistentvolumes"
STORAGE = "/apis/storage.k8s.io/v1"
CLASSES = f"{STORAGE}/storageclasses"


def add_volume(bed, name, storage_class, node, **more):
    """A volume that only that node reaches."""
    rule = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}
    bed.api.do("POST", VOLUMES, {"metadata": {"name": name}, "spec": {
        "storageClassName": storage_class, "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "10Gi"},
        "persistentVolumeReclaimPolicy": "Retain", "local": {"path": "/mnt/disk"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [rule]}]}}, **more}})


def claim_spec(storage_class):
    return {"storageClassName": storage_class, "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "5Gi"}}}


def make_volumes(bed, user):
    """Plays a provisioner of class `made`: makes a volume for each claim whose node is selected."""
    for claim in bed.api.list(f"/api/v1/namespaces/{user}/persistentvolumeclaims"):
        meta, spec = claim["metadata"], claim["spec"]
        node = meta.get("annotations", {}).get("volume.kubernetes.io/selected-node")
        name = f"made-{meta['uid']}"
        if node is None or spec["storageClassName"] != "made" or bed.api.ask("GET", f"{VOLUMES}/{name}")[0] == 200:
            continue
        add_volume(bed, name, "made", node, claimRef={
            "kind": "PersistentVolumeClaim", "apiVersion": "v1", "namespace": user, "name": meta["name"], "uid": meta["uid"]})


def volumes():
    """Pods go to the nodes of their volumes, which are local or made where there is storage, and wait for a missing claim."""
    claims = "/api/v1/namespaces/ann/persistentvolumeclaims"
    uses = lambda name: [{"name": "data", "persistentVolumeClaim": {"claimName": name}}]
    scratch = [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": claim_spec("made")}}}]
    local, made, lost = (Ask(name, "ann", 1, 2, 600.0, "GRU", volumes=uses(name)) for name in ("local", "made", "lost"))
    each = Ask("each", "ann", 2, 4, 600.0, "GRU", volumes=scratch)
    with Bed("4xV100:8", SETTINGS, FACTOR) as bed:
        bed.fairlead("fifo:skip=true")
        bed.name_space("ann")
        for name, provisioner in (("local", "kubernetes.io/no-provisioner"), ("made", "disk.bed.example")):
            bed.api.do("POST", CLASSES, {"metadata": {"name": name}, "provisioner": provisioner,
                                         "volumeBindingMode": "WaitForFirstConsumer"})
            bed.api.do("POST", claims, {"metadata": {"name": name}, "spec": claim_spec(name)})
        add_volume(bed, "disk", "local", "n3")
        bed.api.do("POST", f"{STORAGE}/csidrivers", {"metadata": {"name": "disk.bed.example"}, "spec": {"storageCapacity": True}})
        for name, nodes, size in (("some", ["n1", "n2"], "100Gi"), ("little", ["n0"], "1Gi")):
            rule = {"key": "kubernetes.io/hostname", "operator": "In", "values": nodes}
            bed.api.do("POST", f"{STORAGE}/namespaces/ann/csistoragecapacities", {
                "metadata": {"name": name}, "storageClassName": "made", "capacity": size,
                "nodeTopology": {"matchExpressions": [rule]}})
        submit(bed, [local, made, lost, each])
        until(lambda: bed.nodes_of(local), 30, "it has its local volume")
        assert bed.nodes_of(local) == ["n3"]

        def both_run():
            make_volumes(bed, "ann")
            return bed.nodes_of(made) and bed.nodes_of(each)

        start = time.monotonic()
        until(both_run, 60, lambda: f"volumes are made: {bed.pods(made)} {bed.pods(each)}")
        made_s = time.monotonic() - start
        assert set(bed.nodes_of(made) + bed.nodes_of(each)) <= {"n1", "n2"}, "the others have too little storage"
        for claim in bed.api.list(claims):
            assert claim["status"]["phase"] == "Bound", claim
        waits = lambda: [condition.get("message", "") for pod in bed.pods(lost)
                         for condition in pod["status"].get("conditions", []) if condition["type"] == "PodScheduled"]
        until(lambda: waits() == ["claim lost does not exist"], 30, waits)
        bed.api.do("POST", claims, {"metadata": {"name": "lost"}, "spec": claim_spec("made")})

        def lost_runs():
            make_volumes(bed, "ann")
            return bed.nodes_of(lost)

        start = time.monotonic()
        until(lost_runs, 60, lambda: f"it has its claim: {waits()}")
        found_s = time.monotonic() - start
        asks = [local, made, lost, each]
        await_done(bed, asks)
        return {**judge(bed, asks), "volumes_made_s": made_s, "runs_with_its_claim_s": found_s}


# --- Devices --------------------------------------------------------------------------------------

DEVICES = "/apis/resource.k8s.io/v1"


def add_claimable_node(bed, name, gpus):
    """A node with the GPUs that a driver of dynamic resource allocation reports. No kubelet runs its pods."""
    room = {"cpu": "64", "memory": "256Gi", "pods": "110"}
    bed.api.do("POST", "/api/v1/nodes", {"metadata": {"name": name}})
    bed.api.ask("PATCH", f"/api/v1/nodes/{name}/status", {"status": {
        "capacity": room, "allocatable": room, "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady",
                                                               "lastHeartbeatTime": "2100-01-01T00:00:00Z"}]}},
                "application/merge-patch+json")
    devices = [{"name": f"gpu-{row}", "attributes": {"type": {"string": "gpu"}, "productName": {"string": "NVIDIA H100 80GB HBM3"}}}
               for row in range(gpus)]
    bed.api.do("POST", f"{DEVICES}/resourceslices", {"metadata": {"name": f"{name}-gpus"}, "spec": {
        "driver": "gpu.nvidia.com", "nodeName": name, "devices": devices,
        "pool": {"name": name, "generation": 1, "resourceSliceCount": 1}}})


def devices():
    """Gangs get the GPUs that their pods claim before they are bound, and none is given twice."""
    expression = "device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == 'gpu'"
    claims = [{"name": "gpu", "resourceClaimTemplateName": "two"}]
    first, second = (Ask(name, "ann", 3, 0, claims=claims) for name in ("first", "second"))
    with Bed("1xV100:1", SETTINGS, FACTOR) as bed:
        bed.api.do("POST", f"{DEVICES}/deviceclasses", {"metadata": {"name": "gpu.nvidia.com"}, "spec": {
            "selectors": [{"cel": {"expression": expression}}]}})
        for node in ("d0", "d1"):
            add_claimable_node(bed, node, 4)
        bed.name_space("ann")
        bed.api.do("POST", f"{DEVICES}/namespaces/ann/resourceclaimtemplates", {"metadata": {"name": "two"}, "spec": {"spec": {
            "devices": {"requests": [{"name": "gpus", "exactly": {"deviceClassName": "gpu.nvidia.com", "count": 2}}]}}}})
        process = bed.fairlead("fifo")
        bound = lambda ask: [pod["spec"]["nodeName"] for pod in bed.pods(ask) if "nodeName" in pod["spec"]]
        given = lambda: [(result["pool"], result["device"]) for claim in bed.api.list(f"{DEVICES}/namespaces/ann/resourceclaims")
                         for result in claim.get("status", {}).get("allocation", {}).get("devices", {}).get("results", [])]
        start = time.monotonic()
        bed.submit(first)
        until(lambda: len(bound(first)) == 3, 30, lambda: f"the first is bound: {process.said()[-2000:]}")
        bound_s = time.monotonic() - start
        assert len(given()) == len(set(given())) == 6, given()
        for claim in bed.api.list(f"{DEVICES}/namespaces/ann/resourceclaims"):
            pod = bed.api.get(f"/api/v1/namespaces/ann/pods/{claim['status']['reservedFor'][0]['name']}")
            assert {result["pool"] for result in claim["status"]["allocation"]["devices"]["results"]} == {pod["spec"]["nodeName"]}
        bed.submit(second)
        until(lambda: len(bed.pods(second)) == 3 or bed.job(second)["spec"].get("suspend"), 30, "the second waits")
        assert not bound(second), "two GPUs are left for its six"
        start = time.monotonic()
        # Without a kubelet, a pod ends only if it is removed at once.
        bed.api.ask("DELETE", bed.job_path(first), {"propagationPolicy": "Background"})
        for pod in bed.pods(first):
            bed.api.ask("DELETE", f"/api/v1/namespaces/ann/pods/{pod['metadata']['name']}", {"gracePeriodSeconds": 0})
        until(lambda: len(bound(second)) == 3, 60, lambda: f"the second is bound: {given()} {process.said()[-2000:]}")
        assert len(given()) == len(set(given())) == 6, given()
        return {"bound_s": bound_s, "next_bound_s": time.monotonic() - start}


SCENARIOS = (volumes, devices)
