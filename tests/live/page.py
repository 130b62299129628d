"""The page over TCP: on this machine alone, with a token, read-only."""

import http.client
import json
import os
import socket
import subprocess

from harness import LiveTest, Settings


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class PageTest(LiveTest):
    def setUp(self):
        super().setUp()
        self.port = free_port()
        self.live = self.daemon("1xV100", flags=("--http", f"127.0.0.1:{self.port}"))

    def ask(self, method, target, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        connection.request(method, target, headers=headers or {})
        answer = connection.getresponse()
        body = answer.read().decode()
        connection.close()
        return answer.status, answer.headers, body

    def url(self):
        environment = {**os.environ, "FAIRLEAD_SOCKET": str(self.live.folder / "socket")}
        told = subprocess.run([Settings.programs / "fairlead", "page"], env=environment, capture_output=True, text=True, check=True)
        return told.stdout.strip()

    def token(self):
        return (self.live.folder / "http-token").read_text().strip()

    def test_its_address_is_all_that_a_browser_needs(self):
        url = self.url()
        self.assertEqual(url, f"http://127.0.0.1:{self.port}/?token={self.token()}")
        status, headers, page = self.ask("GET", "/" + url.split("/", 3)[3])
        self.assertEqual(status, 200)
        self.assertIn("<title>Fairlead</title>", page)
        cookie = headers["Set-Cookie"].split(";")[0]
        status, _, body = self.ask("GET", "/v1/cluster", {"Cookie": cookie})
        self.assertEqual(status, 200)
        self.assertEqual(json.loads(body)["jobs_running"], 0)

    def test_without_the_token_there_is_nothing(self):
        for headers in ({}, {"Authorization": "Bearer " + "0" * 64}, {"Cookie": "fairlead_token="}):
            self.assertEqual(self.ask("GET", "/metrics", headers)[0], 401)
        bearer = {"Authorization": f"Bearer {self.token()}"}
        self.assertIn("fairlead_gpus", self.ask("GET", "/metrics", bearer)[2])
        self.assertEqual(self.ask("GET", "/healthz", bearer)[0], 200)
        self.assertEqual(self.ask("GET", "/healthz", {**bearer, "Host": "evil.example"})[0], 403)
        self.assertEqual(self.ask("POST", "/v1/jobs", bearer)[0], 405)

    def test_the_token_is_the_daemons_alone_and_stays(self):
        file = self.live.folder / "http-token"
        self.assertEqual(file.stat().st_mode & 0o777, 0o600)
        self.assertEqual(len(self.token()), 64)
        before = self.url()
        self.live.kill()
        self.live.start()
        self.assertEqual(self.url(), before)

    def test_other_addresses_than_this_machines_are_refused(self):
        for address in ("0.0.0.0:8080", "8080", "192.168.0.1:8080", "127.0.0.1", "127.0.0.1:0", "127.0.0.1:99999"):
            refused = subprocess.run([Settings.programs / "fairlead", "serve", "--nodes", "1xV100", "--http", address,
                                      "--folder", self.live.base / "other"], capture_output=True, text=True, check=False)
            self.assertEqual(refused.returncode, 2, address)
            self.assertIn("--http is", refused.stderr)
