"""Users of unmodified scripts trade, and policies place by gain. A CPU quota stands for the type of a job's GPU."""

import os
import re
import subprocess
import unittest

from harness import HERE, IS_ROOT, Figures, Settings
from quotas import Quotas, Ticks, cpu_root
from trading import PYTHON, USERS, Traders, World

CORES = 0.07  # the quota of a job on a V100; K80: this times 0.25 to the power of the user
STEP = re.compile(rb"^step (\d+)/", re.MULTILINE)
# The same script, if it reported its steps. Behind the line that prints them; seldom, because a report takes as long as some steps.
REPORT = '''
    if step % 100 == 0 or step == start:
        open(os.environ["FAIRLEAD_PROGRESS"], "a").write(f"{step} {TOTAL} steps\\n")'''
# One thread for each job, whatever the machine.
ENVIRONMENT = ["OMP_NUM_THREADS=1", "XLA_FLAGS=--xla_cpu_multi_thread_eigen=false", "JAX_PLATFORMS=cpu"]
JAX_PYTHON = os.environ.get("FAIRLEAD_TEST_JAX_PYTHON", PYTHON)


def cores(speed, uid):
    return CORES * speed ** USERS[uid]


def version_of(python, module):
    """Returns the version of a module for a user of the tests, or nothing if that user has none."""
    uid = next(iter(USERS))
    command = [python, "-c", f"import {module}; print({module}.__version__)"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False, user=uid, group=uid, extra_groups=[], cwd="/").stdout.strip()
    except OSError:
        return ""


class Limited(World):
    """A daemon whose jobs have quotas. Their steps are those that they print."""

    def __init__(self, live, jobs, quotas):
        super().__init__(live, jobs)
        self.quotas = quotas

    def steps_of(self, job, file):
        log = self.live.folder / "logs" / f"{job}.log"
        if not log.exists():
            return 0
        with open(log, "rb") as text:
            text.seek(max(0, log.stat().st_size - 4096))
            steps = STEP.findall(text.read())
        return int(steps[-1]) if steps else 0

    def remove(self):
        super().remove()
        self.quotas.remove()


@unittest.skipUnless(IS_ROOT, "quotas of jobs of several users take root")
@unittest.skipUnless(cpu_root()[1], "this machine has no cpu controller of cgroups")
class QuotaTest(Traders):
    policy = "gandiva-fair:quantum_s=2,trade_quanta=5,resident=true"

    def setUp(self):
        super().setUp()
        self.addCleanup(Ticks().remove)

    def world(self, policy, submit, flags=()):
        live = self.daemon(self.nodes, policy, grace_s=20, flags=flags, start=False)
        quotas = Quotas(live, cores)
        self.addCleanup(quotas.remove)
        self.addCleanup(live.remove)  # before the quotas
        live.start()
        quotas.start()
        return Limited(live, self.submitted(live, submit), quotas)

    def submitter(self, python, script, reports):
        text = (HERE / "scripts" / script).read_text()
        if reports:
            text = re.sub(r"( +print\(f\"step .*)", lambda line: line[0] + REPORT, text)

        def submit(live, file, uid, power):
            copy = live.work / script
            if not copy.exists():
                copy.write_text(text)
            return live.submit([python, str(copy), str(file)], environment=ENVIRONMENT, uid=uid)

        return submit

    def check(self, python, script, module):
        version = version_of(python, module)
        if not version:
            self.skipTest(f"{python} has no {module} for all users")
        submitters = self.submitter(python, script, False), self.submitter(python, script, True)
        self.check_silent(f"{module} {version} under a quota", 60, Settings.either(140, 240), submitters, "hook")

    def test_an_unmodified_torch_script_trades(self):
        self.check(PYTHON, "train_torch.py", "torch")

    def test_an_unmodified_jax_script_trades(self):
        self.check(JAX_PYTHON, "train_jax.py", "jax")

    def test_policies_place_by_gain(self):
        """Compares fairlead and hadar with a policy that knows no speeds: it gives each user a V100 and two K80."""
        if not version_of(PYTHON, "torch"):
            self.skipTest(f"{PYTHON} has no torch for all users")
        submit = self.submitter(PYTHON, "train_torch.py", False)
        policies = {"no speeds": f"{self.policy},trade=false", "fairlead": "fairlead:window_s=120,round_s=10,switch_s=3,resident=true",
                    "hadar": "hadar:round_s=10,switch_s=3"}
        worlds = [self.world(policy, submit) for policy in policies.values()]
        done = dict(zip(policies, self.measure(worlds, 60, Settings.either(120, 240))))
        for name, policy in done.items():
            for what, values in (("V100 of users", {uid: gpus["V100"] for uid, gpus in policy.gpus.items()}), ("GPUs in V100", policy.worth())):
                Figures.add("placing", f"{name}: {what} of powers {', '.join(map(str, USERS.values()))}; together",
                            f"{', '.join(f'{value:.2f}' for value in values.values())}; {sum(values.values()):.2f}")
            Figures.add("placing", f"{name}: steps a second of the same", f"{', '.join(f'{value:.0f}' for value in policy.steps.values())}; {sum(policy.steps.values()):.0f}")
        plain = done["no speeds"].worth()
        for name in ("fairlead", "hadar"):
            fast = [gpus["V100"] for gpus in done[name].gpus.values()]
            self.assertLess(fast[2], 0.5, f"{name}: V100 of the user who gains least")
            self.assertGreater(sum(done[name].worth().values()), 1.1 * sum(plain.values()), name)
            self.assertGreater(sum(done[name].steps.values()), 1.05 * sum(done["no speeds"].steps.values()), name)
        for uid, worth in done["fairlead"].worth().items():
            self.assertGreater(worth, 0.95 * plain[uid], f"fairlead shares: user {uid}")
