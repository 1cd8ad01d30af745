"""The stage of scripts/soak: instances, haproxy, what cuts, what is read out of the store, and processes in /proc."""
import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

SWAMP = os.environ["SWAMP_PROGRAM"]
HERE = os.path.dirname(os.path.abspath(__file__))
NAMES = ["one", "two", "three"]
TTL_S = 2.0
MARKER = "SWAMP_SOAK_MARKER"
PREFIXES = ["heartbeats", "active-runs", "instance-runs", "cancel-requests", "runs", "workflow-runs", "workflow-names"]

HAPROXY = """
global
    nbthread 1
defaults
    mode http
    balance roundrobin
    timeout connect 2s
    timeout client 30s
    timeout server 30s
    timeout tunnel 1h
    timeout check 1s
    retries 3
    option redispatch 1
    option httpchk GET /ready
    default-server check inter 500ms fall 2 rise 1
"""


def step(name, command):
    return {"name": name, "task": {"type": "model_method", "modelType": "command/shell", "modelName": "soak",
                                   "methodName": "execute", "inputs": {"run": command}}}


def lines(count, pause):
    return "i=0; while [ $i -lt %d ]; do i=$((i+1)); echo line $i; %s done" % (count, "sleep %s;" % pause if pause else "")


# name: its command, how many lines it prints, how it ends when nobody disturbs it
WORKFLOWS = {
    "quick": ("echo line 1", 1, "succeeded"),
    "talk": (lines(20, 0.2), 20, "succeeded"),
    "long": (lines(32, 0.25), 32, "succeeded"),
    "burst": (lines(3000, 0), 3000, "succeeded"),
    "silent": ("sleep 3", 0, "succeeded"),
    "bad": ("echo line 1; exit 3", 1, "failed"),
    "deaf": ("trap '' TERM; " + lines(8, 0.3), 8, "succeeded"),
}


class Instance:
    """`swamp serve` on one port, over and over."""

    def __init__(self, stage, name, port):
        self.stage, self.name, self.port = stage, name, port
        self.log, self.process, self.is_paused, self.starts = stage.path(name + ".log"), None, False, 0
        self.expected = {}  # pid: exit codes that are no surprise

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [SWAMP, "serve", "--port", str(self.port), "--store", self.stage.store, "--instance-id-file",
                 self.stage.path(self.name + ".id"), "--heartbeat-interval", "500ms", "--stale-ttl", "%ds" % TTL_S,
                 "--reconciliation-interval", "1s", "--drain-grace", "1s", "--drain-timeout", "6s", "--linger", "10s"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.stage.folder, start_new_session=True)
        self.expected[self.process.pid] = set()
        self.starts += 1

    def is_ready(self):
        """/ready says so, and it is this process: the port was free before."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), 1) as end:
                end.settimeout(1)
                end.sendall(b"GET /ready HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
                return end.recv(12).endswith(b" 200")
        except OSError:
            return False

    def send(self, number):
        """A signal that ends it, sooner or later."""
        self.expected[self.process.pid].add(-number if number == signal.SIGKILL else 0)
        self.process.send_signal(number)

    def pause(self, is_paused):
        self.process.send_signal(signal.SIGSTOP if is_paused else signal.SIGCONT)
        self.is_paused = is_paused

    def tail(self, count=15):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return "".join(file.readlines()[-count:])


class Stage:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="swamp-soak-")
        self.database = self.path("control-plane.db")
        self.store = "sqlite:" + self.database
        self.marker = os.path.basename(self.folder)
        os.environ[MARKER] = self.marker
        os.mkdir(self.path("workflows"))
        for number, (name, (command, _, _)) in enumerate(WORKFLOWS.items()):
            with open(self.path("workflows/%s.json" % name), "w", encoding="ascii") as file:
                json.dump({"id": "6f1f7a3e-8a1e-4a53-9f0b-%012x" % number, "name": name, "version": 1,
                           "jobs": [{"name": "job", "steps": [step("step", command)]}]}, file)
        held = [socket.create_server(("127.0.0.1", 0)) for _ in NAMES]
        self.instances = [Instance(self, name, one.getsockname()[1]) for name, one in zip(NAMES, held)]
        for one in held:
            one.close()
        self.others, self.cutters, self.urls = [], [], []

    def path(self, name):
        return os.path.join(self.folder, name)

    def spawn(self, words, **options):
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, cwd=self.folder, start_new_session=True, **options)
        self.others.append(process)
        return process

    def set(self):
        for one in self.instances:
            one.start()
        until = time.monotonic() + 30
        while not all(one.is_ready() for one in self.instances):
            if time.monotonic() > until:
                raise RuntimeError("not ready:\n" + "".join(one.tail() for one in self.instances))
            time.sleep(0.05)
        doors = [socket.create_server(("127.0.0.1", 0)) for _ in range(3)]
        with open(self.path("haproxy.cfg"), "w", encoding="ascii") as file:
            file.write(HAPROXY)
            for number, door in enumerate(doors):
                file.write("listen door%d\n    bind fd@%d\n" % (number, door.fileno()))
                for one in self.instances:
                    file.write("    server %s 127.0.0.1:%d\n" % (one.name, one.port))
        with open(self.path("haproxy.log"), "wb") as log:
            self.haproxy = self.spawn(["haproxy", "-db", "-f", self.path("haproxy.cfg")], stdout=log, stderr=log,
                                      pass_fds=[door.fileno() for door in doors])
        for door in doors:
            cutter = self.spawn([sys.executable, "-B", os.path.join(HERE, "cutter.py"), str(door.getsockname()[1])],
                                stdout=subprocess.PIPE, text=True)
            self.cutters.append(cutter)
            self.urls.append("http://127.0.0.1:" + cutter.stdout.readline().strip())
            door.close()

    def processes(self):
        """Of the runs' commands, by our marker in their environment: [(pid, command line)]."""
        own = {one.process.pid for one in self.instances} | {other.pid for other in self.others} | {os.getpid()}
        found = []
        for name in os.listdir("/proc"):
            if not name.isdigit() or int(name) in own:
                continue
            try:
                with open("/proc/%s/environ" % name, "rb") as file:
                    if ("%s=%s" % (MARKER, self.marker)).encode() not in file.read().split(b"\0"):
                        continue
                with open("/proc/%s/cmdline" % name, "rb") as file:
                    words = file.read().replace(b"\0", b" ").decode("utf-8", "replace").strip()
            except OSError:
                continue  # it has just ended
            if words:
                found.append((int(name), words))
        return found

    def end(self, keep):
        for one in self.instances:
            if one.process and one.process.poll() is None:
                one.process.kill()
                one.process.wait()
        for other in self.others:
            if other.poll() is None:
                other.kill()
            other.wait()
            if other.stdout:
                other.stdout.close()
        if not keep:
            shutil.rmtree(self.folder, ignore_errors=True)


class Watch:
    """Reads the store beside the instances, never writes, and remembers every final status that it saw."""

    def __init__(self, stage, fault):
        self.stage, self.fault, self.finals, self.seen = stage, fault, {}, 0
        self.lock = threading.Lock()

    def rows(self, query, *values):
        """Short, on a connection of its own: one that stays open would keep the WAL from being reset."""
        for _ in range(50):
            try:
                link = sqlite3.connect("file:%s?mode=ro" % self.stage.database, uri=True, timeout=2)
                try:
                    return link.execute(query, values).fetchall()
                finally:
                    link.close()
            except sqlite3.OperationalError:
                time.sleep(0.1)
        raise RuntimeError("the store cannot be read")

    def look(self):
        """What changed since the last look. A final record may only vanish, never change."""
        with self.lock:
            for revision, key, value in self.rows(
                    "SELECT revision, key, value FROM records WHERE key >= 'runs/' AND key < 'runs0' AND revision > ? "
                    "ORDER BY revision", self.seen):
                run = json.loads(value)
                is_final = run["status"] not in ("pending", "running", "suspended")
                before = self.finals.get(run["id"])
                if before and before != run:
                    self.fault("final record changed", "%s: %s, then %s" % (key, before, run))
                if is_final:
                    self.finals[run["id"]] = run
                self.seen = revision

    def final(self, run_id):
        self.look()
        return self.finals.get(run_id)

    def counts(self):
        counted = dict.fromkeys(PREFIXES, 0)
        counted.update(self.rows("SELECT substr(key, 1, instr(key, '/') - 1), count(*) FROM records GROUP BY 1"))
        return counted

    def keys(self, prefix):
        return [key for key, in self.rows("SELECT key FROM records WHERE key >= ? AND key < ?", prefix + "/", prefix + "0")]


def process_figures(pid):
    """(RSS in KiB, open descriptors), or None: it has ended."""
    try:
        with open("/proc/%d/status" % pid, encoding="ascii", errors="replace") as file:
            rss = int(re.search(r"VmRSS:\s+(\d+)", file.read()).group(1))
        return rss, len(os.listdir("/proc/%d/fd" % pid))
    except (OSError, AttributeError):
        return None
