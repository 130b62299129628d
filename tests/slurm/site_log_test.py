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


class SiteLog(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.at = pathlib.Path(cls.folder.name)
        subprocess.run([sys.executable, HERE / "site_log.py", "--jobs", "1500", "--out", cls.at],
                       check=True, stdout=subprocess.DEVNULL)
        cls.truth = json.loads((cls.at / "truth.json").read_text())
        cls.imported = cls.fairlead("import", "slurm", "--scontrol-nodes", "scontrol.txt", "--sacct", "sacct.txt",
                                    "--squeue", "squeue.txt", "--out", "lab")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def fairlead(cls, *arguments):
        return subprocess.run([PROGRAM, *arguments], cwd=cls.at, capture_output=True, text=True, check=False)

    def rows(self, name):
        with (self.at / "lab" / name).open() as file:
            return list(csv.DictReader(file))

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
        ended = self.fairlead("compare", "--cluster", "lab/cluster.yaml", "--trace", "lab/jobs.csv", "--set",
                              "costs=none", "--policies", "as-recorded;slurm", "--out", "cmp")
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertTrue(ended.stdout.startswith("Our model of your scheduler, slurm: mean wait "), ended.stdout)
        waits = {policy: json.loads((self.at / "cmp" / policy / "summary.json").read_text())["logged"]
                 for policy in ("as-recorded", "slurm")}
        truth = self.truth["mean_wait_s"]
        self.assertAlmostEqual(waits["slurm"]["queue_avg_s"], truth, delta=0.01 * truth)
        self.assertAlmostEqual(waits["as-recorded"]["queue_avg_here_s"], truth, delta=0.01 * truth)
        self.assertAlmostEqual(waits["slurm"]["queue_avg_here_s"], truth, delta=0.25 * truth)
        self.assertNotIn("nothing states where", ended.stdout)


if __name__ == "__main__":
    PROGRAM = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
