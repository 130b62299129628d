"""Job lists, drawn from a seed before anything runs, as Jobs of the bed and as a trace of the simulator."""

import csv
import random

from bed import Ask

SHAPES = {(1, 1): 3, (1, 2): 3, (1, 4): 4, (1, 8): 4, (2, 4): 2, (2, 8): 3, (4, 4): 2, (4, 8): 1}  # pods x GPUs: weight
MODELS = ["VAE", "SuperResolution", "DCGAN", "GRU", "LSTM", "ResNet50", "ResNeXt50"]  # of the table `slides`
USERS = ["ada", "ben", "cho"]


class Arrival:
    def __init__(self, at_s, ask):
        self.at_s, self.ask = at_s, ask  # simulated


def draw(seed, jobs=30, arrive_s=600, mean_s=240, factor=60, scheduler="fairlead", shapes=None):
    """Times are simulated seconds, and work is as on V100; users state truly how long their jobs run."""
    dice, shapes = random.Random(seed), shapes or SHAPES
    weighted = list(shapes), list(shapes.values())
    found = []
    for row in range(jobs):
        pods, gpus = dice.choices(*weighted)[0]
        work_s = round(min(max(dice.expovariate(1 / mean_s), mean_s / 5), mean_s * 4), 3)
        found.append(Arrival(round(dice.uniform(0, arrive_s), 3),
                             Ask(f"job{row}", USERS[row % len(USERS)], pods, gpus, work_s, dice.choice(MODELS),
                                 time_s=work_s / factor, scheduler=scheduler)))
    return sorted(found, key=lambda arrival: arrival.at_s)


def write_trace(path, arrivals):
    with open(path, "w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow("job user model gpus task_gpus submit_s duration_s".split())
        for arrival in arrivals:
            ask = arrival.ask
            out.writerow([ask.name, ask.user, ask.model, ask.pods * ask.gpus, ask.gpus, f"{arrival.at_s:.3f}", f"{ask.work_s:.3f}"])


def scaled(policy, factor):
    """Returns the same policy for time that passes `factor` times as fast."""
    name, _, options = policy.partition(":")
    given = []
    for option in filter(None, options.split(",")):
        key, _, value = option.partition("=")
        if key.endswith("_s") or key == "limits":
            parts = [float(part) / factor for part in value.split("/")]
            assert all(part >= 1 and part == int(part) for part in parts), f"{option} / {factor} is no whole number"
            value = "/".join(str(int(part)) for part in parts)
        given.append(f"{key}={value}")
    return name + (":" if given else "") + ",".join(given)
