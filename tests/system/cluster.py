"""What the tests of faults share: several instances with quick timings, the store's records and lock, processes in /proc."""
import ctypes
import fcntl
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
import unittest

import swamp_test
from swamp_test import SWAMP, UNTIL_GO, Server, Socket, SwampTest, find_program, wait_until, workflow

MARKER = "SWAMP_TEST_MARKER"
QUICK = ["--heartbeat-interval", "500ms", "--stale-ttl", "2s", "--reconciliation-interval", "500ms", "--drain-timeout", "20s"]
TTL_S = 2.0
FULL = bool(os.environ.get("SWAMP_TEST_FULL"))  # the figures of the specification, where CI takes smaller ones

# Holds the sidecar lock until its stdin closes.
HOLDER = """
import fcntl, sys
file = open(sys.argv[1], "rb+")
fcntl.flock(file, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""

HAPROXY = """
global
    nbthread 1
defaults
    mode http
    balance roundrobin
    timeout connect 2s
    timeout client 60s
    timeout server 60s
    timeout tunnel 1h
    retries 3
    option redispatch 1
    option httpchk GET /ready
    default-server check inter 300ms fall 2 rise 1
listen door
    bind fd@%d
"""


class Ready:
    """GET /ready, with its status and body."""

    def __init__(self, port):
        with socket.create_connection(("127.0.0.1", port), swamp_test.PATIENCE) as end:
            end.settimeout(swamp_test.PATIENCE)
            end.sendall(b"GET /ready HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
            answer = b""
            while part := end.recv(4096):
                answer += part
        head, _, body = answer.partition(b"\r\n\r\n")
        self.code, self.body = int(head.split()[1]), json.loads(body)


class Frozen:
    """One thread of a child, by its name, stands still while the others go on: SIGSTOP takes the whole process.

    By ptrace, in whose eyes the thread that seized it is the tracer: enter and leave on one thread.
    """

    DETACH, SEIZE, INTERRUPT, WALL = 17, 0x4206, 0x4207, 0x40000000

    def __init__(self, pid, name):
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
        self.libc.ptrace.restype = ctypes.c_long
        self.thread = next(int(tid) for tid in os.listdir("/proc/%d/task" % pid) if self.name_of(pid, tid) == name)

    def name_of(self, pid, tid):
        with open("/proc/%d/task/%s/comm" % (pid, tid), encoding="ascii") as file:
            return file.read().strip()

    def trace(self, request):
        if self.libc.ptrace(request, self.thread, None, None) != 0:
            raise OSError(ctypes.get_errno(), "ptrace %#x" % request)

    def __enter__(self):
        try:
            self.trace(self.SEIZE)
        except PermissionError:
            raise unittest.SkipTest("ptrace is not allowed here") from None
        self.trace(self.INTERRUPT)
        os.waitpid(self.thread, self.WALL)  # it has stopped
        return self

    def __exit__(self, *_):
        self.trace(self.DETACH)


class ClusterTest(SwampTest):
    """Instances on the store of this test's folder."""

    def setUp(self):
        super().setUp()
        self.database = self.path(".swamp/control-plane.db")
        self.env[MARKER] = os.path.basename(self.folder)
        self.write_workflow("held", workflow("held", UNTIL_GO))

    def go(self):
        open(self.path("go"), "w").close()

    # ---- instances and clients ----

    def instance(self, *words, port=0, quick=QUICK, env=None):
        server = Server([SWAMP, "serve", "--port", str(port), "--drain-grace", "0", *quick, *words],
                        {**self.env, **(env or {})}, self.folder)
        self.addCleanup(server.end)
        return server

    def balance(self, *servers):
        """haproxy before the servers; its URL."""
        haproxy = find_program("haproxy")
        with socket.create_server(("127.0.0.1", 0)) as door:
            with open(self.path("haproxy.cfg"), "w", encoding="ascii") as file:
                file.write(HAPROXY % door.fileno())
                for number, server in enumerate(servers):
                    file.write("    server s%d 127.0.0.1:%d\n" % (number, server.port))
            process = subprocess.Popen([haproxy, "-db", "-f", self.path("haproxy.cfg")], pass_fds=[door.fileno()],
                                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            self.addCleanup(process.wait)
            self.addCleanup(process.kill)
            return "http://127.0.0.1:%d" % door.getsockname()[1]

    def begin(self, url, name="held"):
        """A run that has printed its first line: its client (--json) and its id."""
        client = self.start("workflow", "run", name, "--json", "--server", url)
        run = client.wait_line("err", r'"accepted","runId":"([^"]+)"').group(1)
        client.wait_line("out", "begun")
        return client, run

    def record(self, run):
        """The run's RUN, or None."""
        row = self.query("SELECT value FROM records WHERE key = ?", "runs/" + run)
        return json.loads(row[0][0]) if row else None

    def wait_final(self, run):
        final = lambda: (self.record(run) or {}).get("status") in ("succeeded", "failed", "cancelled")
        wait_until(final, "a final record of " + run)
        return self.record(run)

    def alive(self):
        """The instances that have a heartbeat."""
        return {key.split("/")[1] for key in self.keys("heartbeats/")}

    def ask(self, port, frame):
        """The first answer to one request; what is said to the whole connection (server.drain) is passed over."""
        end = Socket(port)
        try:
            end.send(frame)
            while True:
                answer = end.receive()
                if answer.get("id") == frame["id"]:
                    return answer
        finally:
            end.close()

    def attach(self, port, run):
        return self.ask(port, {"type": "run.attach", "id": "a", "payload": {"runId": run}})

    # ---- the store ----

    def query(self, text, *values):
        """On a short connection that only reads: one that stayed would keep the WAL from being reset."""
        link = sqlite3.connect("file:%s?mode=ro" % self.database, uri=True, timeout=30)
        try:
            return link.execute(text, values).fetchall()
        finally:
            link.close()

    def keys(self, prefix=""):
        return [key for key, in self.query("SELECT key FROM records WHERE substr(key, 1, ?) = ? ORDER BY key", len(prefix), prefix)]

    def rows(self, run):
        """All records with this run's id in their key, with revisions."""
        return self.query("SELECT key, revision, value FROM records WHERE key LIKE ? ORDER BY key", "%/" + run)

    def put(self, records):
        """Writes past the program, under the sidecar lock, as another version of it might."""
        with open(self.database + ".lock", "rb+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            link = sqlite3.connect(self.database, timeout=30, isolation_level=None)
            link.execute("PRAGMA wal_autocheckpoint = 0")
            link.execute("BEGIN IMMEDIATE")
            revision = link.execute("SELECT revision FROM counter").fetchone()[0]
            for key, value in records.items():
                revision += 1
                link.execute("INSERT INTO records(key, revision, value) VALUES(?, ?, ?)", (key, revision, value))
            link.execute("UPDATE counter SET revision = ?", (revision,))
            link.execute("COMMIT")
            link.close()

    def hold_lock(self):
        """A process that holds the sidecar lock."""
        holder = subprocess.Popen([sys.executable, "-c", HOLDER, self.database + ".lock"], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE)
        self.addCleanup(self.end_holder, holder)
        self.assertEqual(holder.stdout.readline(), b"held\n")
        return holder

    def end_holder(self, holder):
        if holder.poll() is None:
            holder.kill()
        holder.wait()
        holder.stdin.close()
        holder.stdout.close()

    # ---- processes ----

    def commands(self, words):
        """Processes of this test whose command line holds the words."""
        wanted, found = ("%s=%s" % (MARKER, self.env[MARKER])).encode(), []
        for name in os.listdir("/proc"):
            try:
                with open("/proc/%s/environ" % name, "rb") as file:
                    if not name.isdigit() or wanted not in file.read().split(b"\0"):
                        continue
                with open("/proc/%s/cmdline" % name, "rb") as file:
                    line = file.read().replace(b"\0", b" ").decode("utf-8", "replace")
            except OSError:
                continue
            if words in line:
                found.append((int(name), line.strip()))
        return found

    def pause(self, server, seconds):
        """SIGSTOP for a time that is the fault itself, not a wait for something."""
        server.send(signal.SIGSTOP)
        time.sleep(seconds)
        server.send(signal.SIGCONT)


def in_parallel(functions):
    """Runs them in threads; gives what they returned, or raises what one of them raised."""
    results, failures = [None] * len(functions), []

    def call(index, function):
        try:
            results[index] = function()
        except BaseException as failure:  # noqa: told below
            failures.append(failure)

    threads = [threading.Thread(target=call, args=pair) for pair in enumerate(functions)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return results
