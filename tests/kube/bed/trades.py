"""Users who trade by speeds that agents measured, against the same jobs without agents and against the simulator."""

import collections
import csv
import json
import pathlib
import re
import subprocess
import tempfile
import time

from bed import Ask, Bed, Settings
from control_plane import free_ports
from workload import scaled

CLUSTER, FACTOR = "1xV100:6,1xK80:12", 5
SETTINGS = ["models=slides", "reference_gpu=K80"]
USERS = {"ann": "VAE", "bob": "ResNeXt50", "cho": "GRU"}  # 1.25, 6.33 and 4.81 times as fast on a V100
JOBS = 8  # of each user, of one GPU, longer than the run
# In real time: turns of 60 s, because a speed is measured within one, and trades every second turn.
POLICY = "gandiva-fair:quantum_s=300,trade_quanta=2"
# An agent needs half a minute of steps; without agents nothing is ever measured.
PROFILE_S = {True: 30 * FACTOR, False: 86_400}


def asks():
    return [Ask(f"j{row}", user, 1, 1, 1e6, model) for row in range(JOBS) for user, model in USERS.items()]


def printed_steps(bed):
    """Returns the steps of each user's jobs, as far as their pods have printed them."""
    done = collections.Counter()
    for log in bed.logs().glob("*/train/0.log"):
        user, pod, _ = log.parts[-3].split("_", 2)
        job = user, pod.rsplit("-", 2)[0]
        done[job] = max([done[job], *map(int, re.findall(r"step (\d+)/", log.read_text()))])
    return {user: sum(count for (who, _), count in done.items() if who == user) for user in USERS}


def played(has_agents, real_s):
    """Returns the steps of each user, and the learned speeds."""
    with Bed(CLUSTER, SETTINGS, FACTOR) as bed:
        port = free_ports(1)[0]
        bed.fairlead(scaled(POLICY, FACTOR), port=port)
        if has_agents:
            bed.agents()
        for user in USERS:
            bed.name_space(user)
        for ask in asks():
            bed.submit(ask)
        time.sleep(real_s)
        learned = {f"{user} on {gpu_type}": speed for (user, _, gpu_type), speed in bed.learned(port).items()}
        return printed_steps(bed), learned


def simulated(has_agents, until_s):
    """Returns the work of each user."""
    with tempfile.TemporaryDirectory() as folder:
        trace, out = pathlib.Path(folder) / "trace.csv", pathlib.Path(folder) / "out"
        rows = [f"{ask.user}-{ask.name},{ask.user},{ask.model},1,0,{ask.work_s:.0f}" for ask in asks()]
        trace.write_text("\n".join(["job,user,model,gpus,submit_s,duration_s", *rows]) + "\n", encoding="utf-8")
        sets = [word for setting in [*SETTINGS, "speeds=measured", f"profile_s={PROFILE_S[has_agents]}"] for word in ("--set", setting)]
        # Exit status 3: jobs are left.
        subprocess.run([Settings.programs / "fairlead", "simulate", "--cluster", CLUSTER, "--trace", trace, "--policy", POLICY,
                        "--until", str(until_s), *sets, "--out", out], capture_output=True, check=False)
        with open(out / "users.csv", encoding="utf-8") as file:
            return {row["user"]: float(row["work_gpu_hours"]) for row in csv.DictReader(file)}


def gains(with_speeds, without):
    return {user: round(with_speeds[user] / without[user] - 1, 3) for user in USERS}


def trades(real_s=900):
    (measured, learned), (unknown, none) = played(True, real_s), played(False, real_s)
    assert not none, none
    found = {"learned": learned, "played": gains(measured, unknown),
             "simulated": gains(simulated(True, real_s * FACTOR), simulated(False, real_s * FACTOR))}
    print(json.dumps(found), flush=True)
    return found
