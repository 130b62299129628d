"""The bed's own client of the API server: JSON calls on one connection."""

import http.client
import json
import ssl


class Gone(Exception):
    """The API server does not answer."""


class Failed(Exception):
    """The API server rejected the request."""


class Api:
    def __init__(self, plane, limit_s=30, token=None):
        """Has the rights of the token, or else those of an administrator."""
        context = ssl.create_default_context(cafile=plane.dir / "ca.crt")
        if token is None:
            context.load_cert_chain(plane.dir / "admin.crt", plane.dir / "admin.key")
        self.headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self.open = lambda: http.client.HTTPSConnection("127.0.0.1", plane.ports["api"], timeout=limit_s, context=context)
        self.connection = None

    def ask(self, method, path, body=None, kind="application/json"):
        """Returns status and answer. Gone: no answer came."""
        text = None if body is None else json.dumps(body)
        for is_last in (False, True):  # a connection that was kept may have been closed meanwhile
            is_new = self.connection is None
            try:
                self.connection = self.connection or self.open()
                self.connection.request(method, path, text, self.headers | {"Content-Type": kind})
                answer = self.connection.getresponse()
                told = answer.read()
                return answer.status, json.loads(told) if told[:1] == b"{" else told.decode(errors="replace")
            except (OSError, http.client.HTTPException) as error:
                self.connection = None
                if is_new or is_last:
                    raise Gone(str(error)) from error
        raise AssertionError

    def do(self, method, path, body=None, kind="application/json"):
        status, told = self.ask(method, path, body, kind)
        if status >= 300:
            raise Failed(f"{method} {path}: {status} {told}")
        return told

    def get(self, path):
        return self.do("GET", path)

    def list(self, path):
        return self.get(path)["items"]

    def patch(self, path, change):
        return self.do("PATCH", path, change, "application/merge-patch+json")

    def apply(self, path, thing):
        """Creates the object, or replaces it if it exists."""
        status, told = self.ask("POST", path, thing)
        if status == 409:
            return self.do("PUT", f"{path}/{thing['metadata']['name']}", thing)
        if status >= 300:
            raise Failed(f"POST {path}: {status} {told}")
        return told
