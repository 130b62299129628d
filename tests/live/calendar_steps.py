"""The calendar is set while no daemon runs. (A running daemon reads CLOCK_BOOTTIME, which cannot be set;
a test must not set the real clock of this machine.)"""

from harness import HERE, Figures, LiveTest, until

HOUR_MS = 3_600_000


class CalendarStepTest(LiveTest):
    def test_jobs_run_on_and_take_turns(self):
        live = self.daemon("1xV100")
        files = [live.work / f"job{i}" for i in range(2)]
        jobs = [live.submit([str(HERE / "count.sh"), str(file), "1000000", "0.05", "0"]) for file in files]
        for step_ms in (HOUR_MS, -HOUR_MS, -24 * HOUR_MS, 365 * 24 * HOUR_MS):
            told = live.get("/v1/cluster")["now_unix_ms"]
            live.kill()
            # The folder began earlier: to the daemon it is later, as after a step of the calendar forwards.
            began = live.folder / "began"
            began.write_text(f"{int(began.read_text()) - step_ms}\n")
            live.start()
            self.assertGreaterEqual(live.get("/v1/cluster")["now_unix_ms"], told - max(0, step_ms) - 1000)
            before = [file.read_text().count("unit") if file.exists() else 0 for file in files]
            until(lambda: all(file.exists() and file.read_text().count("unit") > count
                              for file, count in zip(files, before)), 20, f"both get on after {step_ms} ms: {live.records()}")
        for job, file in zip(jobs, files):
            live.post(f"/v1/jobs/{job}/cancel")
            self.assertEqual(file.read_text().count("start"), 1)
        Figures.add("calendar", "set by +1 h, -1 h, -24 h, +365 d while no daemon ran: jobs started again", 0, "0")
        self.assert_clean_end(live)

    def test_the_real_clock_is_left_alone(self):
        self.skipTest("a step of the clock while a daemon runs needs a machine of its own")
