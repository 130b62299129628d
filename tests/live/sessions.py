"""`fairlead run --tty`: a shell on GPUs, at a terminal that Python plays."""

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time

from harness import LiveTest, Settings, until


class Client:
    """`fairlead run --tty -- COMMAND` at a terminal of its own."""

    def __init__(self, live, command, flags=(), size=(24, 80)):
        self.text = ""
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.environ["FAIRLEAD_SOCKET"] = str(live.folder / "socket")
            name, _, value = live.token.partition("=")
            os.environ[name] = value
            os.environ["PS1"] = "at> "
            program = str(Settings.programs / "fairlead")
            os.execv(program, [program, "run", "--tty", *flags, "--", *command])
        self.resize(*size)

    def resize(self, rows, columns):
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, keys):
        os.write(self.terminal, keys.encode())

    def expect(self, pattern, limit_s=20):
        """Returns the output up to the pattern, and removes it."""
        end = time.monotonic() + limit_s
        while not (found := re.search(pattern, self.text)):
            left = end - time.monotonic()
            ready = left > 0 and select.select([self.terminal], [], [], left)[0]
            if not ready:
                raise AssertionError(f"not shown within {limit_s} s: {pattern}\n{self.text}")
            try:
                self.text += os.read(self.terminal, 65536).decode(errors="replace")
            except OSError:
                raise AssertionError(f"the terminal ended before {pattern}\n{self.text}") from None
        before, self.text = self.text[: found.end()], self.text[found.end():]
        return before

    def code(self):
        """Returns its exit code; output until then is read."""
        with contextlib.suppress(OSError):
            while chunk := os.read(self.terminal, 65536):
                self.text += chunk.decode(errors="replace")
        status = os.waitpid(self.pid, 0)[1]
        self.pid = None
        return os.waitstatus_to_exitcode(status)

    def settings(self):
        return termios.tcgetattr(self.terminal)

    def close(self):
        if self.pid is not None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.terminal)


class SessionsTest(LiveTest):
    def client(self, live, *command, **more):
        client = Client(live, command, **more)
        self.addCleanup(client.close)
        return client

    def shell(self, live, **more):
        client = self.client(live, "bash", "--norc", "--noprofile", **more)
        client.expect("at> ")
        return client

    def test_a_shell_has_a_terminal_and_its_exit_code_is_that_of_the_client(self):
        live = self.daemon("1xV100")
        client = self.shell(live)
        client.type("tty; echo $CUDA_VISIBLE_DEVICES-$((6*7))\r")
        self.assertIn("/dev/pts/", client.expect("0-42"))
        client.type("test -t 0 && test -t 1 && test -t 2 && echo all-$((3*3))\r")
        client.expect("all-9")
        client.type("exit 5\r")
        self.assertEqual(client.code(), 5, client.text)
        self.assertEqual(live.job(0)["exit_code"], 5)
        self.assertEqual(live.output(0), "")
        self.assert_clean_end(live)

    def test_the_size_of_the_window_is_followed(self):
        live = self.daemon("1xV100")
        script = "stty size; trap 'echo now $(stty size)' WINCH; echo ready; while :; do sleep 0.1; done"
        client = self.client(live, "sh", "-c", script, size=(31, 97))
        self.assertIn("31 97", client.expect("ready"))
        client.resize(40, 120)
        client.expect("now 40 120")
        client.type("\x1c")  # Ctrl-\\: SIGQUIT, which ends it
        self.assertEqual(client.code(), 128 + signal.SIGQUIT, client.text)

    def test_ctrl_c_is_the_jobs_and_cancels_nothing(self):
        live = self.daemon("1xV100")
        client = self.shell(live)
        client.type("sleep 600 || echo slept-$?\r")
        client.expect("slept-")  # as it was typed
        until(lambda: any("sleep" in open(f"/proc/{pid}/comm").read() for pid in live.processes()), 10)
        client.type("\x03")
        client.expect("at> ")
        client.type("echo still-$((5*5))\r")
        client.expect("still-25")
        self.assertEqual(live.job(0)["state"], "running")
        client.type("\x04")  # Ctrl-D
        client.code()
        self.assertIn(live.job(0)["state"], ("finished", "failed"))

    def test_the_terminal_is_as_it_was_afterwards(self):
        live = self.daemon("1xV100")
        outer = self.client(live, "true")
        before = outer.settings()
        self.assertEqual(outer.code(), 0, outer.text)
        client = self.shell(live)
        until(lambda: not client.settings()[3] & termios.ICANON, 5, "the terminal is raw")
        os.kill(client.pid, signal.SIGTERM)
        client.expect("leaves; job 1 ends with its terminal")
        self.assertEqual(client.settings()[3], before[3])
        self.assertEqual(client.code(), 130)

    def test_a_job_ends_when_its_client_is_killed(self):
        live = self.daemon("1xV100")
        client = self.shell(live)
        client.type("sleep 600\r")
        os.kill(client.pid, signal.SIGKILL)
        self.assertIn(live.await_end(0)["state"], ("cancelled", "failed"))
        until(lambda: not live.processes(), 10, "no process is left")

    def test_a_job_that_waits_ends_with_its_client_too_and_ctrl_c_cancels_it(self):
        live = self.daemon("1xV100", "fifo")
        live.submit(["sleep", "600"])
        for end in ("kill", "interrupt"):
            client = self.client(live, "bash")
            client.expect("waits: ")
            job = live.jobs()[-1]["id"]
            if end == "kill":
                os.kill(client.pid, signal.SIGKILL)
            else:
                client.type("\x03")
                self.assertEqual(client.code(), 130)
            self.assertEqual(live.await_end(job)["state"], "cancelled")
            self.assertEqual(live.output(job) if (live.folder / f"logs/{job}.log").exists() else "", "")

    def test_a_suspended_session_says_so_and_goes_on(self):
        live = self.daemon("1xV100", "gandiva-fair:quantum_s=3,resident=true")
        client = self.shell(live)
        client.type("x=kept-$((2*2))\r")
        live.submit(["sleep", "600"])
        client.expect("is suspended, and frozen until its next turn", 60)
        client.expect("goes on", 60)
        client.type("\recho $x\r")
        client.expect("kept-4")
        client.type("exit 0\r")
        client.code()

    def test_a_session_goes_on_without_the_daemon_and_with_the_next(self):
        live = self.daemon("1xV100", "fifo")
        client = self.shell(live)
        waiting = self.client(live, "bash")
        waiting.expect("waits: ")
        live.kill()
        client.type("echo on-$((8*8))\r")
        client.expect("on-64")
        live.start()
        client.type("exit 3\r")
        self.assertEqual(client.code(), 3, client.text)
        # The terminal of the waiting job was the daemon's, and went with it.
        end = live.await_end(1)
        self.assertEqual(end["state"], "failed")
        self.assertIn("its terminal is gone", end["reason"])
        self.assertEqual(waiting.code(), 1)
        self.assert_clean_end(live)

    def test_without_a_terminal_it_is_refused(self):
        live = self.daemon("1xV100")
        status, body = live.ask("POST", "/v1/jobs", live.request_for(["true"], terminal=True, processes=2))
        self.assertEqual((status, body["error"]), (400, "terminal: only a job of one process can have one"))
        job = live.submit(["true"], terminal=True)
        end = live.await_end(job)
        self.assertIn(end["state"], ("failed", "cancelled"))
