"""Python versions of built-in policies."""

import fairlead


class Fifo(fairlead.Policy):
    """First come, first served: the first job that finds no room blocks all jobs behind it."""

    name = "fifo"

    def decide(self, view, plan):
        arrival = view.arrival_ms
        for job in sorted(view.waiting.tolist(), key=lambda job: (arrival[job], job)):
            if not plan.place(job):
                return


class Las(fairlead.Policy):
    """Least attained service first, with preemption at every multiple of a quantum while jobs wait."""

    name = "las"
    quantum_ms = 60_000

    def __init__(self):
        super().__init__()
        self.last = {}  # gangs of the last runs

    def goes_back(self, job, plan):
        if job not in self.last or any(plan.free_on(node) < gpus for node, gpus in self.last[job]):
            return False
        return plan.place_on(job, self.last[job])

    def decide(self, view, plan):
        self.last.update((job, plan.gang(job)) for job in view.running.tolist())
        if len(view.waiting) == 0:
            return
        jobs = [*view.running.tolist(), *view.waiting.tolist()]
        service = dict(zip(jobs, view.attained_gpu_ms(view.running).tolist() + view.attained_gpu_ms(view.waiting).tolist()))
        arrival, gpus = view.arrival_ms, view.gpus
        left, chosen = int(sum(view.node_gpus)), []
        held = set(view.running.tolist())
        for job in sorted(jobs, key=lambda job: (service[job], arrival[job], job)):
            if gpus[job] <= left:
                left -= int(gpus[job])
                chosen.append(job)
            elif job in held:
                plan.stop(job, "priority")
        for job in chosen:
            if not plan.has_gang(job):
                self.goes_back(job, plan)
        for job in chosen:
            if not plan.has_gang(job):
                plan.place(job)
        plan.wake_at_s((view.now_ms // self.quantum_ms + 1) * self.quantum_ms / 1000)


class Greedy(fairlead.Policy):
    """For measurements: reads the columns, and places the jobs that fit."""

    name = "greedy"

    def decide(self, view, plan):
        if plan.free_gpus == 0:
            return
        for job in view.waiting.tolist():
            plan.place(job)
