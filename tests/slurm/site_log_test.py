#!/usr/bin/env python3
"""The way of an operator, from a Slurm log with known waits to a comparison: site_log_test.py PROGRAM."""

import csv
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).parent
OFFSETS = "+02:00,2026-10-25T03:00:00=+01:00"
PROGRAM = ""


class Site(unittest.TestCase):
    NAME, FILES = "", ()

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.at = pathlib.Path(cls.folder.name)
        subprocess.run([sys.executable, HERE / "site_log.py", "--site", cls.NAME, "--jobs", "1500", "--out", cls.at],
                       check=True, stdout=subprocess.DEVNULL)
        cls.truth = json.loads((cls.at / "truth.json").read_text())
        cls.imported = cls.fairlead("import", "slurm", "--scontrol-nodes", "scontrol.txt", "--sacct", "sacct.txt",
                                    "--squeue", "squeue.txt", *cls.FILES, "--out", "lab")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def fairlead(cls, *arguments):
        return subprocess.run([PROGRAM, *arguments], cwd=cls.at, capture_output=True, text=True, check=False)

    def rows(self, name):
        with (self.at / "lab" / name).open() as file:
            return list(csv.DictReader(file))

    def compare(self, out, *more):
        """Compares the log with our model of Slurm. Returns the ended program and the waits by policy."""
        ended = self.fairlead("compare", "--cluster", "lab/cluster.yaml", "--trace", "lab/jobs.csv", "--set",
                              "costs=none", "--policies", "as-recorded;slurm", "--out", out, *more)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        return ended, {policy: json.loads((self.at / out / policy / "summary.json").read_text())["logged"]
                       for policy in ("as-recorded", "slurm")}


class SiteLog(Site):
    NAME = "three"

    def test_the_offset_is_asked_for(self):
        ended = self.fairlead("trace", "inspect", "sacct-local.txt")
        self.assertEqual(ended.returncode, 2)
        self.assertIn("the clock changed within this log", ended.stderr)
        self.assertIn("--utc-offset", ended.stderr)

    def test_each_row_is_counted(self):
        ended = self.fairlead("trace", "inspect", "sacct-local.txt", "--utc-offset", OFFSETS)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        words = {tuple(line.split()) for line in ended.stdout.splitlines()}
        self.assertIn(("cancelled", "while", "waiting", str(self.truth["cancelled_while_waiting"])), words)
        self.assertIn(("no", "GPU", str(self.truth["without_gpus"])), words)
        self.assertEqual(len(self.rows("jobs.csv")), self.truth["jobs"])
        self.assertEqual(sum("#2" in row["job"] for row in self.rows("jobs.csv")),
                         self.truth["runs_again"] - self.again_in_queue())

    def again_in_queue(self):
        ended = {row["job"] for row in self.rows("jobs.csv")}
        return sum(row["job"] in ended for row in self.rows("queue.csv"))

    def test_jobs_may_run_where_they_asked_to(self):
        self.assertEqual(self.imported.returncode, 0, self.imported.stderr)
        asked = {line.split("|")[0]: line.split("|") for line in (self.at / "sacct.txt").read_text().splitlines()}
        some = {("h100", ""): "h100", ("a100", ""): "a100/nvlink+a100/other", ("a100", "nvlink"): "a100/nvlink"}
        mig = set()
        for name in ("jobs.csv", "queue.csv"):
            for row in self.rows(name):
                if row["job"] not in asked:
                    continue
                partition, features = asked[row["job"]][2], asked[row["job"]][10]
                if partition == "small":
                    mig.add(row["runs_on"])
                else:
                    self.assertEqual(row["runs_on"], some[partition, features], row["job"])
        self.assertLessEqual({"v100", "a100_1g.5gb", "a100_3g.20gb"}, mig)
        self.assertTrue(all(row["task_gpus"] == "8" for row in self.rows("jobs.csv") if row["gpus"] == "16"))

    def test_the_comparison_opens_with_todays_scheduler(self):
        self.assertIn("--set costs=none --policies 'as-recorded;slurm'", self.imported.stdout)
        ended, waits = self.compare("cmp")
        self.assertTrue(ended.stdout.startswith("Our model of your scheduler, slurm: mean wait "), ended.stdout)
        truth = self.truth["mean_wait_s"]
        self.assertAlmostEqual(waits["slurm"]["queue_avg_s"], truth, delta=0.01 * truth)
        self.assertAlmostEqual(waits["as-recorded"]["queue_avg_here_s"], truth, delta=0.01 * truth)
        self.assertAlmostEqual(waits["slurm"]["queue_avg_here_s"], truth, delta=0.25 * truth)
        self.assertNotIn("nothing states where", ended.stdout)


class SiteWithLimits(Site):
    NAME = "limited"
    FILES = ("--sacctmgr-qos", "sacctmgr-qos.txt", "--sacctmgr-assoc", "sacctmgr-assoc.txt")

    def test_limits_come_from_qos_and_accounts(self):
        self.assertEqual(self.imported.returncode, 0, self.imported.stderr)
        self.assertIn("--set limits=lab/limits.csv", self.imported.stdout)
        limits = {row["name"]: (row["qos"], row["account"], row["per"], row["gpus"], row["jobs"])
                  for row in self.rows("limits.csv")}
        self.assertEqual(limits, {
            "MaxTRESPerUser of QOS normal": ("normal", "", "user", "20", ""),
            "GrpTRES of QOS student": ("student", "", "", "20", ""),
            "MaxTRESPerUser of QOS student": ("student", "", "user", "8", ""),
            "MaxJobsPerUser of QOS student": ("student", "", "user", "", "6"),
            "GrpTRES of account physics": ("", "physics", "", "48", "")})
        self.assertEqual({row["qos"] for row in self.rows("jobs.csv")}, {"normal", "student", "free"})

    def test_with_the_limits_our_model_waits_as_the_site_did(self):
        ended, waits = self.compare("limited", "--set", "limits=lab/limits.csv")
        truth = self.truth["mean_wait_s"]
        self.assertAlmostEqual(waits["slurm"]["queue_avg_s"], truth, delta=0.01 * truth)
        self.assertAlmostEqual(waits["as-recorded"]["queue_avg_here_s"], truth, delta=0.01 * truth)
        self.assertAlmostEqual(waits["slurm"]["queue_avg_here_s"], truth, delta=0.25 * truth)
        self.assertIn("the recorded starts are kept, whatever the limits", ended.stdout)
        self.assertIn("limits of 5 rules", ended.stdout)

    def test_without_the_limits_the_difference_is_named(self):
        ended, waits = self.compare("cmp")
        self.assertLess(waits["slurm"]["queue_avg_here_s"], 0.75 * self.truth["mean_wait_s"])
        self.assertRegex(ended.stdout, r"limits +limits of QOS, accounts and users are not known \(--set limits=FILE\) "
                         rf"\({self.truth['jobs']:,} jobs\)")
        self.assertIn("rests on an inaccurate model", ended.stdout)

    def test_the_forecast_of_the_queue_has_the_limits(self):
        with_limits = json.loads(self.fairlead("whatif", "--from", "lab", "--policy", "fifo", "--json").stdout)
        (self.at / "lab" / "limits.csv").rename(self.at / "limits.csv")
        without = json.loads(self.fairlead("whatif", "--from", "lab", "--policy", "fifo", "--json").stdout)
        (self.at / "limits.csv").rename(self.at / "lab" / "limits.csv")
        self.assertNotEqual(with_limits["policies"], without["policies"])

    def test_a_job_that_waited_for_a_limit_says_so(self):
        self.compare("limited", "--set", "limits=lab/limits.csv")
        ended = self.fairlead("why", "limited/slurm")
        self.assertRegex(ended.stdout, r"held .*a limit held it back")


if __name__ == "__main__":
    PROGRAM = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
