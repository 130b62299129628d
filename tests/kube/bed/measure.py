"""Figures of a run, from the kubelets' log and the list of its jobs. Times are simulated seconds."""

import collections
import statistics


class Holds:
    """The runs of jobs: their GPUs with start and end, and the times in which all of the gang trained."""

    def __init__(self, history, factor, start_ms):
        self.at = lambda line: (line["at_ms"] - start_ms) / 1000 * factor
        self.held, self.trained, self.done, self.began = [], [], {}, {}
        pods, gangs = {}, {}
        for line in history:
            what, now = line["what"], self.at(line)
            if what == "admitted":
                pods[line["uid"]] = (now, line["pod"].split("/")[0], line["gpus"])
            elif what in ("stopped", "succeeded", "gone") and line["uid"] in pods:
                since, user, gpus = pods.pop(line["uid"])
                self.held.append((since, now, user, gpus))
            elif what == "begins":
                gangs[line["job"]] = (now, sum(line["nodes"].values()))
                self.began.setdefault(line["job"], now)
            elif what in ("ends", "done") and line["job"] in gangs:
                since, gpus = gangs.pop(line["job"])
                self.trained.append((since, now, line["job"].split("/")[0], gpus))
            if what == "done":
                self.done[line["job"]] = now
        end = self.at(history[-1]) if history else 0
        self.held += [(since, end, user, gpus) for since, user, gpus in pods.values()]
        self.trained += [(since, end, job.split("/")[0], gpus) for job, (since, gpus) in gangs.items()]
        self.end = end


def gpu_time(holds, begin, end, user=None):
    return sum(gpus * max(0.0, min(until, end) - max(since, begin))
               for since, until, who, gpus in holds if user in (None, who))


def entitled(gpus, tickets, demand):
    """Returns each user's GPUs: by tickets, no more than its demand; the rest goes to the other users."""
    given, left, open_users = collections.Counter(), gpus, {user for user in demand if demand[user] > 0}
    while open_users and left > 1e-9:
        unit = left / sum(tickets[user] for user in open_users)
        full = {user for user in open_users if demand[user] - given[user] <= unit * tickets[user]}
        for user in full or open_users:
            more = min(demand[user] - given[user], unit * tickets[user])
            given[user] += more
            left -= more
        if not full:
            break
        open_users -= full
    return given


def share_errors(holds, arrivals, gpus, tickets, step_s=5.0):
    """For each user |GPU time used - GPU time entitled| / entitled, while two users or more have jobs."""
    received, due = collections.Counter(), collections.Counter()
    now = 0.0
    while now < holds.end:
        demand = collections.Counter()
        for arrival in arrivals:
            done = holds.done.get(f"{arrival.ask.user}/{arrival.ask.name}", float("inf"))
            if arrival.at_s <= now < done:
                demand[arrival.ask.user] += arrival.ask.pods * arrival.ask.gpus
        if len(demand) > 1:
            for user, count in entitled(gpus, tickets, demand).items():
                due[user] += count * step_s
                received[user] += gpu_time(holds.held, now, now + step_s, user)
        now += step_s
    return {user: abs(received[user] - due[user]) / due[user] for user in sorted(due)}


def percentile(values, part):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))] if ordered else None


def figures(history, arrivals, factor, start_ms, gpus, tickets):
    holds = Holds(history, factor, start_ms)
    submitted = {f"{a.ask.user}/{a.ask.name}": a.at_s for a in arrivals}
    times = [holds.done[job] - at for job, at in submitted.items() if job in holds.done]
    errors = share_errors(holds, arrivals, gpus, tickets)
    span = max(holds.done.values(), default=holds.end) if len(times) == len(arrivals) else holds.end
    return {"jobs": len(arrivals), "finished": len(times),
            "jct_mean_s": statistics.fmean(times) if times else None, "jct_p90_s": percentile(times, 0.9),
            "share_error": errors, "share_error_max": max(errors.values(), default=0.0),
            "utilisation": gpu_time(holds.trained, 0, span) / (gpus * span), "span_s": span,
            "pods_bound": sum(line["what"] == "admitted" for line in history)}
