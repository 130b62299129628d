"""How often a scheduler decided, and how long it took for that, by its own metrics."""

import http.client
import ssl

FAIRLEAD = "fairlead_decision_seconds"  # what all gangs do next
KUBE_SCHEDULER = "scheduler_scheduling_algorithm_duration_seconds"  # where a pod goes, if anywhere


def parsed(text, name):
    """Count, and seconds in all, of a histogram in Prometheus' text, whatever its labels."""
    sums = {"_count": 0.0, "_sum": 0.0}
    for line in text.splitlines():
        for suffix in sums:
            if line.startswith((f"{name}{suffix} ", f"{name}{suffix}{{")):
                sums[suffix] += float(line.rpartition(" ")[2])
    return sums["_count"], sums["_sum"]


def decisions_of(port, is_kube_scheduler):
    """What the scheduler that listens at that port says; kube-scheduler does so by TLS."""
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
