"""Two users of one machine, who neither see nor change data of the other, with any requests."""

import grp
import json
import os
import subprocess
import unittest

from harness import IS_ROOT, Figures, LiveTest, Settings, until

ANN, BOB = 65534, 64321  # nobody, and one without an account


def can_read(path, uid):
    """Asks the kernel, in a process of that user and no other groups."""
    return subprocess.run(["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "cat", path],
                          capture_output=True, check=False).returncode == 0


@unittest.skipUnless(IS_ROOT, "jobs of several users take root")
class UsersTest(LiveTest):
    def setUp(self):
        super().setUp()
        self.live = self.daemon("4xV100", grace_s=1)

    def test_neither_sees_nor_touches_what_is_the_others(self):
        secret = "SECRET=xyzzy-4711"
        command = ["sh", "-c", "echo 5 100 steps >>$FAIRLEAD_PROGRESS; echo mine; while :; do sleep 0.05; done", "argument-4711"]
        job = self.live.submit(command, environment=[secret], uid=ANN)
        until(lambda: "mine" in self.live.output(job), 20)
        task, = self.live.tasks()
        seen = self.live.job(job, uid=BOB)
        for field in ("command", "folder", "log", "environment"):
            self.assertNotIn(field, seen)
        everything = "".join(json.dumps(self.live.get(target, uid=BOB)) for target in
                             ("/v1/jobs?all=1", f"/v1/jobs/{job}", f"/v1/jobs/{job}/why", "/v1/users", "/v1/cluster", "/metrics"))
        self.assertNotIn("4711", everything)
        self.assertNotIn(str(self.live.work), everything)
        self.assertEqual(self.live.job(job, uid=ANN)["command"], command)
        files = [self.live.folder / "logs" / f"{job}.log", task.folder / "progress"]
        for file in files:
            self.assertTrue(can_read(file, ANN), file)
            self.assertFalse(can_read(file, BOB), file)
        for file in ("journal.flj", f"jobs/{job}", "time", "began", "lock", f"tasks/{task.name}/shim"):
            self.assertTrue((self.live.folder / file).exists(), file)
            self.assertFalse(can_read(self.live.folder / file, ANN), file)
        for verb in ("cancel", "hold", "release", "priority"):
            self.assertEqual(self.live.ask("POST", f"/v1/jobs/{job}/{verb}", uid=BOB)[0], 403)
        for method, target, body in (("PUT", "/v1/users/nobody", {"tickets": 9}), ("POST", "/v1/nodes/V100/cordon", None),
                                     ("POST", "/v1/nodes/V100/uncordon", None)):
            self.assertEqual(self.live.ask(method, target, body, uid=BOB)[0], 403)
            self.assertEqual(self.live.ask(method, target, body, uid=ANN)[0], 403)
        self.assertIn(self.live.job(job)["state"], ("running", "starting"))
        self.live.post(f"/v1/jobs/{job}/cancel", uid=ANN)
        self.assert_clean_end(self.live)
        Figures.add("users", "reads, changes and administration of others refused", "all")

    def test_a_priority_changes_and_a_killed_daemon_keeps_it(self):
        def priority(job, level, uid):
            return self.live.ask("POST", f"/v1/jobs/{job}/priority", {"priority": level}, uid=uid)[0]

        endless = ["sh", "-c", "while :; do sleep 0.05; done"]
        first, second = (self.live.submit(endless, gpus=4, uid=ANN) for _ in range(2))
        self.assertEqual(priority(first, "low", BOB), 403)
        self.assertEqual(priority(first, "urgent", ANN), 403)
        self.assertEqual(priority(first, "low", ANN), 200)
        for _ in range(3):
            self.live.await_state(second, "running")
            self.live.await_state(first, "held")
            self.assertEqual([self.live.job(job)["priority"] for job in (first, second)], ["low", "normal"])
            self.live.kill()
            self.live.start()
        bobs = self.live.submit(endless, gpus=4, uid=BOB)
        self.assertEqual(priority(first, "urgent", 0), 200)
        self.live.await_state(first, "running")
        for job in (second, bobs):
            self.live.await_state(job, "held")
        self.live.kill()
        self.live.start()
        self.assertEqual(self.live.job(first)["priority"], "urgent")
        program = [Settings.programs / "fairlead", "priority", "--socket", self.live.folder / "socket"]
        subprocess.run([*program, "normal", f"{first}-{second}"], check=True)
        for job in (bobs, second, first):
            self.live.await_state(job, "running")
        for job in (first, second, bobs):
            self.live.post(f"/v1/jobs/{job}/cancel")
            self.live.await_end(job)
        self.assert_clean_end(self.live)

    def test_a_job_is_its_submitter(self):
        job = self.live.submit(["sh", "-c", "id -u; id -g; id -G; umask; pwd; cat /proc/self/status"], uid=ANN, umask=0o27)
        self.assertEqual(self.live.await_end(job)["state"], "finished")
        lines = self.live.output(job).splitlines()
        groups = {str(group.gr_gid) for group in grp.getgrall() if "nobody" in group.gr_mem} | {str(ANN)}
        self.assertEqual((lines[0], lines[1], set(lines[2].split())), (str(ANN), str(ANN), groups))
        self.assertEqual(lines[3:5], ["0027", str(self.live.work)])
        status = dict(line.split(":\t", 1) for line in lines[5:] if ":\t" in line)
        self.assertEqual(status["Uid"].split(), [str(ANN)] * 4)
        self.assertEqual(int(status["CapEff"], 16), 0)
        self.assertEqual(int(status["CapPrm"], 16), 0)
        log = (self.live.folder / "logs" / f"{job}.log").stat()
        self.assertEqual((log.st_uid, log.st_mode & 0o777), (ANN, 0o600))

    def test_a_job_has_no_file_of_the_daemon(self):
        job = self.live.submit(["sh", "-c", "ls -l /proc/self/fd"], uid=ANN)
        self.live.await_end(job)
        targets = [line.split(" -> ")[1] for line in self.live.output(job).splitlines() if " -> " in line]
        own = {"/dev/null", str(self.live.folder / "logs" / f"{job}.log")}
        self.assertEqual([target for target in targets if target not in own and not target.startswith("/proc/")], [])

    def test_the_environment_of_a_job_does_nothing_to_the_daemon(self):
        trap = self.live.work / "bin"
        trap.mkdir()
        touched = self.live.work / "touched"
        touched.touch()
        os.chmod(touched, 0o666)
        for name in ("fairlead-shim", "true", "sh"):
            (trap / name).write_text(f"#!/bin/bash\n/usr/bin/id -u >>{touched}\n")
            (trap / name).chmod(0o755)
        hostile = [f"PATH={trap}", f"LD_PRELOAD={trap}/evil.so", f"LD_LIBRARY_PATH={trap}", "IFS=/", "BASH_ENV=/etc/shadow",
                   f"HOME={trap}", "FAIRLEAD_JOB_ID=77", "FAIRLEAD_PROGRESS=/etc/passwd", "CUDA_VISIBLE_DEVICES=0,1,2,3"]
        request = self.live.request_for(["true"])
        request["environment"] = hostile
        status, answer = self.live.ask("POST", "/v1/jobs", request, uid=ANN)
        self.assertEqual(status, 201, answer)
        self.assertEqual(self.live.await_end(answer["id"])["state"], "finished")
        self.assertEqual(touched.read_text(), f"{ANN}\n")  # its own program alone, as itself
        request = self.live.request_for(["/usr/bin/env"])
        request["environment"] = hostile[4:]
        job = self.live.ask("POST", "/v1/jobs", request, uid=ANN)[1]["id"]
        self.assertEqual(self.live.await_end(job)["state"], "finished")
        said = dict(line.split("=", 1) for line in self.live.output(job).splitlines())
        self.assertEqual(said["FAIRLEAD_JOB_ID"], str(job))
        self.assertTrue(said["FAIRLEAD_PROGRESS"].startswith(str(self.live.folder)))
        self.assertEqual(len(said["CUDA_VISIBLE_DEVICES"].split(",")), 1)

    def test_names_are_text_and_nothing_else(self):
        pwned = self.live.work / "pwned"
        good = ["$(touch %s)" % pwned, "; touch %s;" % pwned, "`id`", "../../etc/passwd", "..", "/", "a b'c\"d\\", "%s%n", "é😀", "<script>"]
        for name in good:
            job = self.live.submit(["true"], name=name, model=name, uid=ANN)
            self.assertEqual(self.live.await_end(job)["name"], name)
        for name in ("a\nb", "a\0b", "\x1b[2Jx", "a\rb", "x" * 201, "x" * (1 << 20), 7, None, ["a"]):
            status, answer = self.live.ask("POST", "/v1/jobs", {**self.live.request_for(["true"]), "name": name}, uid=ANN)
            self.assertEqual(status, 400, (str(name)[:40], answer))
        self.assertFalse(pwned.exists())
        self.assertTrue(self.live.is_up())
        self.assert_clean_end(self.live)

    def test_commands_are_words_and_no_shell_reads_them(self):
        words = ["$(id)", "a\nb", "\x1b[31m", "'; exit 3 #", "", "x" * 100_000, "é"]
        job = self.live.submit(["printf", "%s|", *words], uid=ANN)
        self.assertEqual(self.live.await_end(job)["state"], "finished")
        self.assertEqual(self.live.output(job), "".join(word + "|" for word in words))
        for command in ([], [""], ["a\0b"], "true", [1], [["true"]]):
            body = {**self.live.request_for(["true"]), "command": command}
            self.assertEqual(self.live.ask("POST", "/v1/jobs", body, uid=ANN)[0], 400, command)
        for environment in (["novalue"], ["=x"], ["A=\0"], "A=b", [1]):
            body = {**self.live.request_for(["true"]), "environment": environment}
            self.assertEqual(self.live.ask("POST", "/v1/jobs", body, uid=ANN)[0], 400, environment)

    def test_what_is_no_request_is_refused(self):
        for raw in (b"", b"{", b"[]", b"null", b"\0" * 100, b"[" * 100_000, b'{"command":["true"],"folder":"tmp"}', b"\xff\xfe{}"):
            self.assertEqual(self.live.ask("POST", "/v1/jobs", raw, uid=ANN)[0], 400, raw[:40])
        self.assertTrue(self.live.is_up())
        self.assertEqual(self.live.jobs(), [])

    def test_a_folder_that_the_user_may_not_enter(self):
        closed = self.live.base / "closed"
        closed.mkdir(mode=0o700)
        link = self.live.work / "link"
        link.symlink_to(closed)
        away = self.live.base / "away"
        for folder in (closed, link, away, self.live.work / "../closed", "/proc/1/cwd/root"):
            job = self.live.submit(["pwd"], folder=str(folder), uid=ANN)
            end = self.live.await_end(job)
            self.assertEqual(end["state"], "failed", folder)
            self.assertIn("cannot enter", end["reason"], folder)
        self.assert_clean_end(self.live)

    def test_a_log_or_progress_that_was_replaced_by_a_link_is_not_followed(self):
        target = self.live.base / "target"
        target.write_text("root's\n")
        os.chmod(target, 0o600)
        job = self.live.submit(["sh", "-c", f"rm -f $FAIRLEAD_PROGRESS; ln -s {target} $FAIRLEAD_PROGRESS; "
                                            f"rm -f {self.live.folder}/logs/0.log; echo tried >{self.live.work}/tried; "
                                            "while [ ! -e go ]; do sleep 0.02; done"], uid=ANN)
        until((self.live.work / "tried").exists, 20)
        self.assertIsNone(self.live.job(job)["progress"])
        (self.live.work / "go").touch()
        self.assertEqual(self.live.await_end(job)["state"], "finished")
        self.assertEqual(target.read_text(), "root's\n")
        self.assertTrue((self.live.folder / "logs/0.log").exists())
