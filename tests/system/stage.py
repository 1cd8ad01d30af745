"""What the matrix of faults is played on: a client's way to its instances, who sees frames pass, and what must hold after it."""
import json
import os
import signal
import socket
import threading
import time

import swamp_test
from cluster import ClusterTest
from frame_proxy import take_unit
from swamp_test import PATIENCE, Process, hang_up, wait_until

FINAL = ("succeeded", "failed", "cancelled")
HISTORY = {"runs", "workflow-runs", "workflow-names"}
PAUSE_S = 0.1  # between two looks at the store
WORDS_BEFORE_ACCEPTED = "connection lost before the run was accepted"


def holds_lock(pid):
    """A flock() that was granted, by the kernel's list."""
    with open("/proc/locks") as file:
        locks = [line.split() for line in file]
    return any(words[1] == "FLOCK" and words[4] == str(pid) for words in locks)


def state_of(pid):
    """The letter of /proc: T for a process that was stopped; "" for none."""
    try:
        with open("/proc/%d/stat" % pid, encoding="ascii", errors="replace") as file:
            return file.read().rsplit(")", 1)[1].split()[0]
    except (OSError, IndexError):
        return ""


class Door:
    """A balancer for one client: each connection goes to the next of the servers that runs. It sees each frame pass."""

    def __init__(self, servers, turns=False):
        self.servers, self.turns, self.count = list(servers), turns, 0
        self.words, self.is_lost, self.act = None, False, None
        self.passed = threading.Event()  # the frame that was looked for
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.url = "http://127.0.0.1:%d" % self.port
        threading.Thread(target=self._accept, daemon=True).start()

    def when(self, words, is_lost, act):
        """Calls `act` once, when a frame with the words comes; is_lost: instead of letting it through."""
        self.words, self.is_lost, self.act = words, is_lost, act

    def _behind(self):
        shift = self.count if self.turns else 0
        self.count += 1
        for index in range(len(self.servers)):
            server = self.servers[(index + shift) % len(self.servers)]
            if state_of(server.process.pid) in ("", "T", "Z"):
                continue  # as a balancer's health check would have it
            try:
                return socket.create_connection(("127.0.0.1", server.port), PATIENCE)
            except OSError:
                continue
        return None

    def _accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            far = self._behind()
            if far is None:
                near.close()
                continue
            for target in (self._pass_on, self._deliver):
                threading.Thread(target=target, args=(near, far), daemon=True).start()

    def _pass_on(self, near, far):
        try:
            while part := near.recv(65536):
                far.sendall(part)
        except OSError:
            pass
        self._close(near, far)

    def _let_through(self, unit, near):
        """False: it was lost, and its connection with it."""
        is_looked_for = self.words and self.words in unit and not self.passed.is_set()
        if not (is_looked_for and self.is_lost):
            near.sendall(unit)
        if is_looked_for:
            self.act()
            self.passed.set()
        return not (is_looked_for and self.is_lost)

    def _deliver(self, near, far):
        buffer, is_head, is_open = b"", True, True
        try:
            while is_open and (part := far.recv(65536)):
                buffer += part
                while is_open and (taken := take_unit(buffer, is_head)):
                    unit, buffer = taken
                    is_head, is_open = False, self._let_through(unit, near)
        except OSError:
            pass
        self._close(near, far)

    @staticmethod
    def _close(*ends):
        hang_up(*ends)
        for end in ends:
            end.close()

    def close(self):
        self._close(self.listener)


class Witness:
    """Looks at the history all the time: a final record never changes, and never goes."""

    def __init__(self, stage):
        self.stage, self.ended, self.final, self.wrong = stage, threading.Event(), {}, []
        self.thread = threading.Thread(target=self._watch, daemon=True)
        self.thread.start()

    def look(self):
        records = dict(self.stage.query("SELECT key, value FROM records WHERE key >= 'runs/' AND key < 'runs0'"))
        for key, value in self.final.items():
            if records.get(key) != value:
                self.wrong.append("%s was %s and is %s" % (key, value, records.get(key)))
        for key, value in records.items():
            if json.loads(value)["status"] in FINAL:
                self.final.setdefault(key, value)

    def _watch(self):
        try:
            while not self.ended.wait(0.1):
                self.look()
        except Exception as failure:  # noqa: a witness that sees nothing is no witness
            self.wrong.append(repr(failure))

    def close(self):
        self.ended.set()
        self.thread.join(PATIENCE)


class StageTest(ClusterTest):
    """Instances of which one has a fault in it, clients that go through doors, and the invariants."""

    def setUp(self):
        super().setUp()
        self.servers, self.seen, self.witness = [], {}, None
        os.mkfifo(self.path("gate"))
        self.gate = os.open(self.path("gate"), os.O_RDWR)  # commands wait at it without a turn of the CPU
        self.addCleanup(os.close, self.gate)

    def open_gate(self):
        os.write(self.gate, b"go\n" * 8)

    def door(self, servers, turns=False):
        door = Door(servers, turns)
        self.addCleanup(door.close)
        return door

    def serve(self, words, env=None, listens=True):
        server = Process([swamp_test.SWAMP, "serve", "--port", "0", *words], {**self.env, **(env or {})}, self.folder)
        self.addCleanup(server.end)
        self.servers.append(server)
        if listens:
            self.wait_listening(server)
        if not self.witness:  # the store is there now
            self.witness = Witness(self)
            self.addCleanup(self.witness.close)
        return server

    def wait_listening(self, server):
        server.port = int(server.wait_line("out", r"listening on http://127.0.0.1:(\d+)").group(1))
        return server

    def lives(self, server):
        """The ids of the instances that this process was, the last of which it is."""
        lines = list(server.lines["out"])
        return [line.split("(instance ")[1].split(",")[0] for line in lines if "listening on" in line]

    def client(self, door, *words):
        return self.start(*words, "--json", "--server", door.url)

    def living(self):
        return [server for server in self.servers if server.process.poll() is None]

    def runs(self):
        return [key.split("/")[1] for key in self.keys("runs/")]

    # ---- the invariants ----

    def check_client(self, client, run=None):
        """It ended with the final status, or with the one exact error of a start that was not accepted."""
        done = client.wait()
        news = [json.loads(line) for line in done.err.splitlines() if line.startswith('{"swamp"')]
        run = run or next((n["runId"] for n in news if n["swamp"] == "accepted"), None)
        if run is None:
            self.assert_code(done, 4)
            self.assertIn(WORDS_BEFORE_ACCEPTED, done.err.splitlines()[-1])
            return None
        record = self.record(run)
        end = [n for n in news if n["swamp"] == "done"]
        self.assertEqual(len(end), 1, repr(done))
        reason = record.get("interruptReason")
        self.assertEqual((end[0].get("status"), end[0].get("reason")), (record["status"], reason), repr(done))
        self.assert_code(done, 3 if reason else 0 if record["status"] == "succeeded" else 1)
        self.check_events(run, done, news, reason)
        return run

    def check_events(self, run, done, news, reason):
        """None twice, none out of order, each hole reported, and with its exact range; the same bytes for everybody."""
        told = [(n["fromSeq"], n.get("toSeq", 0)) for n in news if n["swamp"] == "gap"]
        holes, last, is_terminal = [], 0, False
        for line in done.out.splitlines():
            event = json.loads(line)
            self.assertGreater(event["seq"], last, repr(done))
            if event["seq"] > last + 1:
                holes.append((last + 1, event["seq"] - 1))
            last, is_terminal = event["seq"], event["kind"] in ("completed", "cancelled")
            self.assertEqual(self.seen.setdefault((run, last), line), line)
        if not is_terminal and not reason:
            holes.append((last + 1, 0))  # up to its last event, whose number nobody told
        elif not is_terminal and len(told) > len(holes):
            holes.append((last + 1, told[-1][1]))  # what the owner had announced, and took along
            self.assertGreater(told[-1][1], last, repr(done))
        self.assertEqual(told, holes, repr(done))

    def check_answers(self):
        """From whichever instance: what attach says of each run is what its record says."""
        for server in self.living():
            for run in self.runs():
                answer, record = self.attach(server.port, run), self.record(run)
                if record.get("interruptReason"):
                    self.assertEqual((answer["type"], answer["payload"]["reason"]), ("run.interrupted", record["interruptReason"]))
                else:
                    self.assertIn(answer.get("error", {}).get("code", answer["type"]), ("not_found", "run.attached", "run.elsewhere"))

    def wait_nothing_left(self):
        """The heartbeats of the living, and the history."""
        def left():
            mine = {"heartbeats/" + self.lives(server)[-1] for server in self.living()}
            return [key for key in self.keys() if key.split("/")[0] not in HISTORY and key not in mine]
        try:
            wait_until(lambda: not left(), "nothing left over", PAUSE_S)
        except AssertionError:
            raise AssertionError("left over: %r" % left()) from None

    def stop_all(self):
        """A planned stop of all that live: only the history is left, and no command."""
        for server in self.living():
            server.process.terminate()
        for server in self.servers:
            done = server.wait()
            self.assertIn(done.code, (0, -9), repr(done))
            self.assertNotRegex(done.err, "Sanitizer|runtime error")
        self.assertEqual({key.split("/")[0] for key in self.keys()} - HISTORY, set())
        wait_until(lambda: not self.commands("gate"), "the end of the commands", PAUSE_S)

    # ---- waiting ----

    def wait_gone(self, instance):
        wait_until(lambda: instance not in self.alive(), "the death of " + instance, PAUSE_S)

    def wait_serving(self, server):
        """It listens, as an instance that is alive."""
        wait_until(lambda: self.lives(server)[-1:] and self.lives(server)[-1] in self.alive(), "a living instance", PAUSE_S)
        return self.wait_listening(server)

    @staticmethod
    def wait_stopped(server):
        wait_until(lambda: state_of(server.process.pid) == "T", "a stopped process")

    def stop_beside_the_lock(self, server):
        """SIGSTOP, again if it struck while the store's lock was held: who holds that keeps everybody, and is a step of its own."""
        while True:
            server.send(signal.SIGSTOP)
            self.wait_stopped(server)
            if not holds_lock(server.process.pid):
                return
            server.send(signal.SIGCONT)

    @staticmethod
    def sleep_until(moment):
        time.sleep(max(0, moment - time.monotonic()))
