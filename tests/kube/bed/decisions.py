"""The number of a scheduler's decisions, and the time they took, by its own metrics."""

import http.client
import ssl

FAIRLEAD = "fairlead_decision_seconds"  # the next steps of all gangs
KUBE_SCHEDULER = "scheduler_scheduling_algorithm_duration_seconds"  # the node of a pod, if any


def parsed(text, name):
    """Returns count, and seconds in all, of a histogram in Prometheus' text, with any labels."""
    sums = {"_count": 0.0, "_sum": 0.0}
    for line in text.splitlines():
        for suffix in sums:
            if line.startswith((f"{name}{suffix} ", f"{name}{suffix}{{")):
                sums[suffix] += float(line.rpartition(" ")[2])
    return sums["_count"], sums["_sum"]


def decisions_of(port, is_kube_scheduler):
    """Returns the metrics of the scheduler that listens at that port; kube-scheduler uses TLS."""
    if is_kube_scheduler:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # its certificate is made as it starts
        connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=10, context=context)
    else:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("GET", "/metrics")
    answer = connection.getresponse()
    text = answer.read().decode()
    assert answer.status == 200, text
    count, took_s = parsed(text, KUBE_SCHEDULER if is_kube_scheduler else FAIRLEAD)
    assert count > 0 and took_s > 0, text[:2000]
    return {"decisions": count, "decisions_per_s": count / took_s}
