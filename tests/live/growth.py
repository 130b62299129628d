"""The memory and files that a daemon keeps of finished jobs."""

import json
import os
import pathlib
import time

from harness import Figures, LiveTest, Settings, until
from load import CONNECTIONS, submit_many


class GrowthTest(LiveTest):
    def memory_bytes(self, live):
        status = pathlib.Path(f"/proc/{live.program.pid}/status").read_text()
        return 1024 * int(status.split("VmRSS:")[1].split()[0])

    def descriptors(self, live):
        return len(os.listdir(f"/proc/{live.program.pid}/fd"))

    def journal_bytes(self, live):
        return (live.folder / "journal.flj").stat().st_size

    def run_jobs(self, live, count):
        body = json.dumps(live.request_for(["/bin/true"])).encode()
        submit_many(str(live.folder / "socket"), CONNECTIONS, count // CONNECTIONS, body)
        until(lambda: not live.jobs(every=False), 2 + count / 5, "all jobs have ended")

    def test_memory_follows_the_jobs_that_ever_were(self):
        first, more = Settings.either((200, 400), (2000, 8000))
        live = self.daemon("8xV100", "fifo:skip=true")
        self.run_jobs(live, first)
        memory, files, journal, start = self.memory_bytes(live), self.descriptors(live), self.journal_bytes(live), time.monotonic()
        self.run_jobs(live, more)
        took = time.monotonic() - start
        grown = (self.memory_bytes(live) - memory) / more
        Figures.add("growth", f"memory of the daemon per job that is done, {first:,} to {first + more:,} jobs, bytes", f"{grown:.0f}", "<= 1,024")
        Figures.add("growth", "the same of the journal, bytes", f"{(self.journal_bytes(live) - journal) / more:.0f}")
        Figures.add("growth", "jobs that begin and end in a second", f"{more / took:.0f}")
        self.assertEqual(self.descriptors(live), files)
        self.assertEqual(os.listdir(live.folder / "jobs"), [])
        self.assertEqual(os.listdir(live.folder / "tasks"), [])
        if Settings.is_long:  # with few jobs, a single growth step of a table is too much
            self.assertLessEqual(grown, 1024)
        live.kill()
        start = time.monotonic()
        live.start()
        Figures.add("growth", f"begins again with {first + more:,} jobs done after, ms", f"{1000 * (time.monotonic() - start):.0f}")
        Figures.add("growth", "memory then, MiB", f"{self.memory_bytes(live) / 2**20:.1f}")
        self.assert_clean_end(live)
