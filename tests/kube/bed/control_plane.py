"""A real Kubernetes control plane on 127.0.0.1, without containers: etcd, kube-apiserver,
kube-controller-manager and, if wanted, kube-scheduler. The nodes are fairlead-fakelet's.

The programs are built once from Go modules (mods/) into a folder outside the source tree:
$FAIRLEAD_K8S_DIR, else ~/.cache/fairlead-k8s. Each control plane has its state in a folder of its own.
The state is disposable: etcd does not flush it to the disk.
"""

import contextlib
import hashlib
import os
import pathlib
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).parent
CACHE = pathlib.Path(os.environ.get("FAIRLEAD_K8S_DIR") or
                     pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "fairlead-k8s")
KUBERNETES = {"kube-apiserver", "kube-controller-manager", "kube-scheduler"}
OTHER_PACKAGES = {"etcd": "go.etcd.io/etcd/server/v3", "kueue": "sigs.k8s.io/kueue/cmd/kueue"}
GANG_GATES = ("GenericWorkload=true,GangScheduling=true,TopologyAwareWorkloadScheduling=true,"
              "WorkloadAwarePreemption=true,WorkloadWithJob=true")
CONTROLLERS = ("job-controller,garbage-collector-controller,namespace-controller,pod-garbage-collector-controller,"
               "disruption-controller,node-lifecycle-controller,taint-eviction-controller,serviceaccount-controller,"
               "ttl-after-finished-controller,root-ca-certificate-publisher-controller,persistentvolume-binder-controller,"
               "persistentvolumeclaim-protection-controller,ephemeral-volume-controller,resourceclaim-controller")


class Unavailable(Exception):
    """The bed cannot run on this machine, with the reason."""


def say(text):
    print(f"bed: {text}", file=sys.stderr, flush=True)


# --- Programs -------------------------------------------------------------------------------------


def module_of(program):
    return HERE / "mods" / ("kubernetes" if program in KUBERNETES else program)


def version_of(module, package):
    for line in (module / "go.mod").read_text().splitlines():
        words = line.replace("require", "").split()
        if len(words) == 2 and words[0] == package:
            return words[1]
    raise AssertionError(f"{module}/go.mod does not require {package}")


def stamp_of(program):
    """Returns the sources of a program: its name, and the versions of all of its modules."""
    return hashlib.sha256((program + (module_of(program) / "go.sum").read_text()).encode()).hexdigest()[:16]


def is_built(program):
    stamp = CACHE / "bin" / f".{program}.bed"
    return (CACHE / "bin" / program).exists() and stamp.exists() and stamp.read_text() == stamp_of(program)


def go_command():
    go = shutil.which("go")
    if go is None:
        raise Unavailable("Go is not installed, and the control plane is not built")
    wanted = version_of(module_of("kube-apiserver"), "go")
    found = subprocess.run([go, "env", "GOVERSION"], capture_output=True, text=True, check=True).stdout.strip()
    number = lambda text: [int(part) for part in text.removeprefix("go").split("-")[0].split(".")]
    if number(found) < number(wanted):
        raise Unavailable(f"Go {wanted} or later is needed to build the control plane; this is {found}")
    return go


def linker_flags(program):
    if program not in KUBERNETES:
        return "-s -w"
    kube = version_of(module_of(program), "k8s.io/kubernetes")
    major, minor = kube.removeprefix("v").split(".")[:2]
    at = "k8s.io/component-base/version."
    return f"-s -w -X {at}gitVersion={kube} -X {at}gitMajor={major} -X {at}gitMinor={minor} -X {at}gitTreeState=clean"


def build(programs):
    """Builds the missing ones: minutes, once. Unavailable: there is no Go, or no network."""
    missing = [program for program in programs if not is_built(program)]
    if not missing:
        return
    go = go_command()
    (CACHE / "bin").mkdir(parents=True, exist_ok=True)
    objects = CACHE / "objects"
    environment = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "", "GOCACHE": str(objects)}
    for program in missing:
        say(f"builds {program} (once; takes minutes)")
        package = OTHER_PACKAGES.get(program) or f"k8s.io/kubernetes/cmd/{program}"
        new = CACHE / "bin" / f"{program}.new"
        made = subprocess.run([go, "build", "-mod=readonly", "-trimpath", "-buildvcs=false", "-ldflags",
                               linker_flags(program), "-o", str(new), package],
                              cwd=module_of(program), env=environment, capture_output=True, text=True, check=False)
        if made.returncode != 0:
            raise Unavailable(f"{program} cannot be built: {made.stderr.strip()[-500:]}")
        new.rename(CACHE / "bin" / program)
        (CACHE / "bin" / f".{program}.bed").write_text(stamp_of(program))
    shutil.rmtree(objects, ignore_errors=True)  # ten times the size of the programs


# --- A control plane ------------------------------------------------------------------------------


def free_ports(count):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


class Process:
    """A program of the bed, which can be killed, stopped, and started again as it was."""

    def __init__(self, name, command, log, environment=None):
        self.name, self.command, self.log = name, [str(word) for word in command], log
        self.environment = environment
        self.program = None

    def start(self):
        with open(self.log, "ab") as log:
            self.program = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            env={**os.environ, **(self.environment or {})}, start_new_session=True)

    def is_up(self):
        return self.program is not None and self.program.poll() is None

    def signal(self, number):
        if self.is_up():
            os.killpg(self.program.pid, number)

    def kill(self):
        self.signal(signal.SIGKILL)
        self.program.wait()

    def stop(self, limit_s=10):
        if not self.is_up():
            return
        self.signal(signal.SIGCONT)
        self.signal(signal.SIGTERM)
        try:
            self.program.wait(limit_s)
        except subprocess.TimeoutExpired:
            self.kill()

    def said(self):
        return pathlib.Path(self.log).read_text(errors="replace")

    def usage(self):
        """Seconds of CPU and bytes of memory at its peak, so far."""
        fields = pathlib.Path(f"/proc/{self.program.pid}/stat").read_text().rpartition(")")[2].split()
        status = pathlib.Path(f"/proc/{self.program.pid}/status").read_text()
        peak = int(status.split("VmHWM:")[1].split()[0]) * 1024
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), peak


class ControlPlane:
    """Started by `with`; its processes and files are gone afterwards, unless `keep`."""

    def __init__(self, scheduler=False, gang_api=False, api_flags=(), keep=False):
        self.scheduler, self.gang_api, self.api_flags, self.keep = scheduler or gang_api, gang_api, list(api_flags), keep
        self.processes = {}

    def __enter__(self):
        programs = ["etcd", "kube-apiserver", "kube-controller-manager"] + ["kube-scheduler"] * self.scheduler
        build(programs)
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="fairlead-bed-"))
        self.ports = dict(zip(("api", "etcd", "peer", "controllers", "scheduler"), free_ports(5)))
        self.url = f"https://127.0.0.1:{self.ports['api']}"
        try:
            self._make_keys()
            self._start()
        except BaseException:
            self.__exit__(*sys.exc_info())
            raise
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes.values()):
            process.stop()
        if not self.keep:
            shutil.rmtree(self.dir, ignore_errors=True)

    # --- Keys ---

    def _openssl(self, *words, text=None):
        subprocess.run(["openssl", *map(str, words)], input=text, capture_output=True, text=True, check=True)

    def _key(self, name):
        self._openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", self.dir / f"{name}.key")

    def _certificate(self, name, subject, extensions):
        self._key(name)
        request, wanted = self.dir / f"{name}.csr", self.dir / f"{name}.ext"
        wanted.write_text(extensions + "\n")
        self._openssl("req", "-new", "-key", self.dir / f"{name}.key", "-subj", subject, "-out", request)
        self._openssl("x509", "-req", "-in", request, "-CA", self.dir / "ca.crt", "-CAkey", self.dir / "ca.key",
                      "-CAcreateserial", "-days", "3650", "-extfile", wanted, "-out", self.dir / f"{name}.crt")

    def _make_keys(self):
        self._key("ca")
        self._openssl("req", "-x509", "-new", "-key", self.dir / "ca.key", "-subj", "/CN=bed", "-days", "3650",
                      "-out", self.dir / "ca.crt")
        self._certificate("apiserver", "/CN=kube-apiserver",
                          "subjectAltName=IP:127.0.0.1,IP:10.96.0.1,DNS:localhost,DNS:kubernetes.default.svc")
        for name, subject in (("admin", "/O=system:masters/CN=admin"),
                              ("controllers", "/O=system:masters/CN=system:kube-controller-manager"),
                              ("scheduler", "/CN=system:kube-scheduler")):
            self._certificate(name, subject, "extendedKeyUsage=clientAuth")
            self._kubeconfig(name, f"client-certificate: {self.dir}/{name}.crt, client-key: {self.dir}/{name}.key")
        self._key("sa")
        self._openssl("pkey", "-in", self.dir / "sa.key", "-pubout", "-out", self.dir / "sa.pub")
        # The scheduler is the service account of deploy/kustomize; agents have tokens of their own pods (bed.py).
        self.token = secrets.token_hex(16)
        (self.dir / "tokens.csv").write_text(f"{self.token},system:serviceaccount:fairlead:fairlead,fairlead\n")
        self.token_kubeconfig("fairlead", self.token)

    def token_kubeconfig(self, name, token):
        self._kubeconfig(name, f"token: {token}")
        return self.kubeconfig(name)

    def _kubeconfig(self, name, user):
        (self.dir / f"{name}.kubeconfig").write_text(
            "apiVersion: v1\nkind: Config\ncurrent-context: bed\n"
            f'clusters: [{{name: bed, cluster: {{server: "{self.url}", certificate-authority: {self.dir}/ca.crt}}}}]\n'
            "contexts: [{name: bed, context: {cluster: bed, user: u}}]\n"
            f"users: [{{name: u, user: {{{user}}}}}]\n")

    def kubeconfig(self, name="admin"):
        return str(self.dir / f"{name}.kubeconfig")

    # --- Processes ---

    def run(self, name, command, environment=None):
        process = Process(name, command, self.dir / f"{name}.log", environment)
        self.processes[name] = process
        process.start()
        return process

    def _start(self):
        etcd, peer = (f"http://127.0.0.1:{self.ports[name]}" for name in ("etcd", "peer"))
        binaries, ca = CACHE / "bin", self.dir / "ca.crt"
        self.run("etcd", [binaries / "etcd", "--name", "bed", "--data-dir", self.dir / "etcd", "--unsafe-no-fsync",
                          "--log-level", "warn", "--listen-client-urls", etcd, "--advertise-client-urls", etcd,
                          "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
                          "--initial-cluster", f"bed={peer}"])
        gates = ["--feature-gates", GANG_GATES] if self.gang_api else []
        runtime = ["--runtime-config", "scheduling.k8s.io/v1alpha2=true"] if self.gang_api else []
        self.run("kube-apiserver", [
            binaries / "kube-apiserver", "--etcd-servers", etcd, "--bind-address", "127.0.0.1", "--advertise-address",
            "127.0.0.1", "--secure-port", self.ports["api"], "--endpoint-reconciler-type", "none",
            "--service-cluster-ip-range", "10.96.0.0/24", "--tls-cert-file", self.dir / "apiserver.crt",
            "--tls-private-key-file", self.dir / "apiserver.key", "--client-ca-file", ca, "--token-auth-file",
            self.dir / "tokens.csv", "--authorization-mode", "RBAC", "--service-account-issuer",
            "https://kubernetes.default.svc", "--service-account-key-file", self.dir / "sa.pub",
            "--service-account-signing-key-file", self.dir / "sa.key", "--profiling=false", *gates, *runtime,
            *self.api_flags])
        self.await_ready()
        # No kubelet sends heartbeats; fairlead-fakelet reports when a node is not ready.
        self.run("kube-controller-manager", [
            binaries / "kube-controller-manager", "--kubeconfig", self.kubeconfig("controllers"), "--bind-address",
            "127.0.0.1", "--secure-port", self.ports["controllers"], "--leader-elect=false",
            "--authentication-skip-lookup", "--service-account-private-key-file", self.dir / "sa.key",
            "--root-ca-file", ca, "--controllers", CONTROLLERS, "--node-monitor-grace-period", "24h",
            "--concurrent-job-syncs", "20", "--kube-api-qps", "400", "--kube-api-burst", "800", "--profiling=false",
            *gates])
        if self.scheduler:
            self.run("kube-scheduler", [
                binaries / "kube-scheduler", "--kubeconfig", self.kubeconfig("scheduler"), "--bind-address",
                "127.0.0.1", "--secure-port", self.ports["scheduler"], "--leader-elect=false",
                "--authentication-skip-lookup", "--authorization-always-allow-paths", "/metrics", "--kube-api-qps", "400",
                "--kube-api-burst", "800", "--profiling=false", *gates])

    def await_ready(self, limit_s=60):
        from api import Api, Gone
        end = time.monotonic() + limit_s
        while time.monotonic() < end:
            for name in ("etcd", "kube-apiserver"):
                if not self.processes[name].is_up():
                    raise Unavailable(f"{name} ended: {self.processes[name].said()[-500:]}")
            with contextlib.suppress(Gone):
                if Api(self, limit_s=2).ask("GET", "/readyz")[0] == 200:
                    return
            time.sleep(0.1)
        raise Unavailable(f"kube-apiserver is not ready after {limit_s} s: {self.processes['kube-apiserver'].said()[-500:]}")
