"""Other systems on the same load: each started from its Debian or npm package, for one measurement."""
import contextlib
import json
import os
import shutil
import subprocess
import tempfile
import time

from .measure import Failed, free_port, line_of, started, wait_for_port

FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "peers")
INSTALL = {"NATS": "apt-get install nats-server", "nchan": "apt-get install libnginx-mod-nchan nginx-light",
           "ws": "npm install --prefix build-bench/peers", "Socket.IO": "npm install --prefix build-bench/peers"}
NCHAN_RATE = 25000  # its message ids count to 32,767 within a second: who publishes faster loses messages


class Peers:
    def __init__(self, bench):
        self.bench = bench
        self.npm = os.path.join(bench.peers_folder, "node_modules")
        self.names = list(INSTALL)

    def missing(self, name):
        """What to do to have it; None: it is here."""
        here = {"NATS": shutil.which("nats-server"),
                "nchan": shutil.which("nginx") and os.path.exists("/usr/lib/nginx/modules/ngx_nchan_module.so"),
                "ws": shutil.which("node") and os.path.isdir(os.path.join(self.npm, "ws")),
                "Socket.IO": shutil.which("node") and os.path.isdir(os.path.join(self.npm, "socket.io"))}
        return None if here[name] else INSTALL[name]

    def require(self, name):
        if self.missing(name):
            raise Failed(f"not here: {self.missing(name)}")

    def versions(self):
        found = []
        for name in self.names:
            if self.missing(name):
                continue
            if name in ("ws", "Socket.IO"):
                with open(os.path.join(self.npm, name.lower(), "package.json")) as file:
                    found.append(f"{name} {json.load(file)['version']}")
            else:
                package = {"NATS": "nats-server", "nchan": "libnginx-mod-nchan"}[name]
                done = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package], stdout=subprocess.PIPE, text=True)
                found.append(f"{name} {done.stdout or 'unknown'}")
        return found

    def measure(self, name, viewers, events, size=200, rate=0, load=()):
        """One load on one peer, started for it."""
        with tempfile.TemporaryDirectory(prefix="bench-") as folder:
            with {"NATS": self.nats, "nchan": self.nchan, "ws": self.node, "Socket.IO": self.node}[name](
                    name, folder, ["--events", str(events), "--size", str(size), "--rate", str(rate)]) as place:
                port, dialect, measured, starter = place
                return self.bench.load(port, "none", "--dialect", dialect, "--viewers", viewers, "--events", events,
                                       "--server", measured, "--start", starter, *load)

    @contextlib.contextmanager
    def node(self, name, _folder, args):
        script = {"ws": "ws.js", "Socket.IO": "socketio.js"}[name]
        with started(["node", os.path.join(FOLDER, script), *args], env={**os.environ, "NODE_PATH": self.npm}) as process:
            port = line_of(process).split()[0]
            yield port, {"ws": "plain", "Socket.IO": "socketio"}[name], process.pid, process.pid

    @contextlib.contextmanager
    def feed(self, to, port, args):
        with started([self.bench.program("feed"), "--to", to, "--port", str(port), *args]) as process:
            line_of(process)
            yield process

    @contextlib.contextmanager
    def nats(self, _name, folder, args):
        port, publisher_port = free_port(), free_port()
        config = put_config("nats.conf", folder, PORT=port, PUBLISHER_PORT=publisher_port)
        with started(["nats-server", "-c", config], stderr=subprocess.DEVNULL) as process:
            wait_for_port(port, process)
            with self.feed("nats", publisher_port, args) as publisher:
                yield port, "nats", process.pid, publisher.pid

    @contextlib.contextmanager
    def nchan(self, _name, folder, args):
        port = free_port()
        os.chmod(folder, 0o755)
        config = put_config("nchan.conf", folder, PORT=port, FOLDER=folder)
        with started(["nginx", "-c", config], stderr=subprocess.DEVNULL) as master:
            try:
                wait_for_port(port, master)
                if args[-1] == "0":
                    args = [*args[:-1], str(NCHAN_RATE)]
                with self.feed("nchan", port, args) as publisher:
                    yield port, "plain", child_of(master.pid), publisher.pid
            finally:
                master.terminate()  # it takes its worker along
                with contextlib.suppress(subprocess.TimeoutExpired):
                    master.wait(timeout=10)


def put_config(name, folder, **places):
    with open(os.path.join(FOLDER, name)) as file:
        text = file.read()
    for place, value in places.items():
        text = text.replace(f"@{place}@", str(value))
    path = os.path.join(folder, name)
    with open(path, "w") as file:
        file.write(text)
    return path


def child_of(pid):
    for _ in range(200):
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            children = file.read().split()
        if children:
            return int(children[0])
        time.sleep(0.01)
    raise Failed("nginx has no worker")
