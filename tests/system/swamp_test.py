"""What the system tests of the program share: servers, commands, a raw WebSocket client, a proxy that can cut.

Only the standard library. Everything listens on loopback, on ports that the kernel chose; every process is ended by
its own handle; a condition is waited for, never slept for.
"""
import base64
import concurrent.futures
import hashlib
import json
import os
import pty
import re
import select
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

SWAMP = os.environ["SWAMP_PROGRAM"]  # set by meson
PATIENCE = int(os.environ.get("SWAMP_TEST_PATIENCE", "60"))  # seconds; a test that waits longer has failed
UNTIL_GO = "echo begun; while ! test -e go; do sleep 0.05; done; echo gone on"

HELLO = """
id: 6f1f7a3e-8a1e-4a53-9f0b-0a4a1d6f9f10
name: hello
description: Say hello
version: 1
inputs:
  properties:
    who: {type: string, default: world}
jobs:
  - name: greet
    steps:
      - name: say
        task: {type: model_method, modelType: command/shell, modelName: hello-say, methodName: execute, inputs: {run: "echo hello ${{ inputs.who }}"}}
"""


def workflow(name, command, ident=None):
    """The text of a workflow file with one step."""
    ident = ident or "6f1f7a3e-8a1e-4a53-9f0b-%012x" % (sum(ord(c) * 31 ** i for i, c in enumerate(name)) % 2 ** 48)
    return json.dumps({"id": ident, "name": name, "version": 1, "jobs": [{"name": "job", "steps": [
        {"name": "step", "task": {"type": "model_method", "modelType": "command/shell", "modelName": "m",
                                  "methodName": "execute", "inputs": {"run": command}}}]}]})


def find_program(name):
    """Its path, also where root alone looks for it. Without it a test fails: else nobody would see what is left out."""
    found = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if not found:
        raise AssertionError("%s is not installed: scripts/packages --full" % name)
    return found


def wait_until(condition, what, pause_s=0.02):
    """Polls: for what has no descriptor to wait on."""
    until = time.monotonic() + PATIENCE
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > until:
            raise AssertionError("not within %d s: %s" % (PATIENCE, what))
        time.sleep(pause_s)


def hang_up(*ends):
    """Both ways of each socket end, also for a thread that waits at it; one that has ended already is left as it is."""
    for end in ends:
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


class Result:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    def __repr__(self):
        return "exit %s\n-- stdout\n%s-- stderr\n%s" % (self.code, self.out, self.err)


class Process:
    """A program whose output lines can be waited for."""

    def __init__(self, words, env, cwd, **options):
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        env=env, cwd=cwd, text=True, start_new_session=True, **options)
        self.lines = {"out": [], "err": []}
        self.changed = threading.Condition()
        self.threads = [threading.Thread(target=self._read, args=(name, stream), daemon=True)
                        for name, stream in (("out", self.process.stdout), ("err", self.process.stderr))]
        for thread in self.threads:
            thread.start()

    def _read(self, name, stream):
        for line in stream:
            with self.changed:
                self.lines[name].append(line.rstrip("\n"))
                self.changed.notify_all()

    def wait_line(self, stream, pattern):
        """The match in the first line that has one."""
        until = time.monotonic() + PATIENCE
        seen = 0
        with self.changed:
            while True:
                for line in self.lines[stream][seen:]:
                    seen += 1
                    match = re.search(pattern, line)
                    if match:
                        return match
                if self.process.poll() is not None and not any(t.is_alive() for t in self.threads):
                    raise AssertionError("ended with %s before %r:\n%r" % (self.process.returncode, pattern, self.lines))
                if time.monotonic() > until:
                    raise AssertionError("no line %r in %r" % (pattern, self.lines))
                self.changed.wait(0.1)

    def send(self, number):
        self.process.send_signal(number)

    def wait(self, patience_s=PATIENCE):
        self.process.wait(patience_s)
        for thread in self.threads:
            thread.join(PATIENCE)
        return Result(self.process.returncode, "".join(l + "\n" for l in self.lines["out"]),
                      "".join(l + "\n" for l in self.lines["err"]))

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(PATIENCE)
        for thread in self.threads:
            thread.join(PATIENCE)
        self.process.stdout.close()
        self.process.stderr.close()


class Server(Process):
    """`swamp serve`, once it listens."""

    def __init__(self, words, env, cwd):
        super().__init__(words, env, cwd)
        match = self.wait_line("out", r"listening on (\S+) \(instance (\S+), store (\S+)\)")
        self.url, self.instance, self.store = match.groups()
        self.port = int(self.url.rsplit(":", 1)[1])


class Socket:
    """A WebSocket client that sends what it is told, also what is wrong."""

    def __init__(self, port, path="/", headers=()):
        self.socket = socket.create_connection(("127.0.0.1", port), PATIENCE)
        key = base64.b64encode(os.urandom(16)).decode()
        lines = ["GET %s HTTP/1.1" % path, "Host: 127.0.0.1:%d" % port, "Upgrade: websocket", "Connection: Upgrade",
                 "Sec-WebSocket-Key: " + key, "Sec-WebSocket-Version: 13", *headers, "", ""]
        self.socket.sendall("\r\n".join(lines).encode())
        self.buffer = b""
        while b"\r\n\r\n" not in self.buffer:
            self._more()
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        self.status = int(head.split()[1])

    def _more(self):
        part = self.socket.recv(65536)
        if not part:
            raise ConnectionError("closed")
        self.buffer += part

    def _take(self, count):
        while len(self.buffer) < count:
            self._more()
        part, self.buffer = self.buffer[:count], self.buffer[count:]
        return part

    def send_frame(self, opcode, payload, final=True):
        mask = os.urandom(4)
        head = bytes([opcode | (0x80 if final else 0)])
        if len(payload) < 126:
            head += bytes([0x80 | len(payload)])
        elif len(payload) < 65536:
            head += b"\xfe" + struct.pack("!H", len(payload))
        else:
            head += b"\xff" + struct.pack("!Q", len(payload))
        self.socket.sendall(head + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(payload)))

    def send(self, value):
        self.send_frame(1, (value if isinstance(value, str) else json.dumps(value)).encode())

    def frame(self):
        """(opcode, payload); pings are answered."""
        while True:
            first, second = self._take(2)
            length = second & 0x7F
            if length == 126:
                length = struct.unpack("!H", self._take(2))[0]
            elif length == 127:
                length = struct.unpack("!Q", self._take(8))[0]
            payload = self._take(length)
            if first & 0x0F != 9:
                return first & 0x0F, payload
            self.send_frame(10, payload)

    def receive(self):
        opcode, payload = self.frame()
        if opcode != 1:
            raise ConnectionError("frame %d: %r" % (opcode, payload))
        return json.loads(payload)

    def close(self):
        self.socket.close()


class Proxy:
    """TCP in the middle: counts connections, cuts them, refuses new ones."""

    def __init__(self, port):
        self.port_behind = port
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.url = "http://127.0.0.1:%d" % self.port
        self.lock = threading.Lock()
        self.sockets, self.threads = [], []
        self.pairs, self.accepted, self.refusing, self.ended = [], 0, False, False
        self.passed = 0  # bytes to the client, of all connections
        self.cut_after = None  # bytes to the client, of each connection
        self._spawn(self._accept)

    def _accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            with self.lock:
                self.accepted += 1
                refused = self.refusing or self.ended
            try:
                far = None if refused else socket.create_connection(("127.0.0.1", self.port_behind), PATIENCE)
            except OSError:
                far = None
            if far is None:
                near.close()
                continue
            with self.lock:
                self.pairs.append((near, far))
                self.sockets += [near, far]
            self._spawn(self._pump, near, far, False)
            self._spawn(self._pump, far, near, True)

    def _spawn(self, target, *args):
        thread = threading.Thread(target=target, args=args, daemon=True)
        self.threads.append(thread)
        thread.start()

    def _pump(self, source, sink, to_client):
        count = 0
        try:
            while True:
                part = source.recv(65536)
                if not part:
                    break
                if to_client:
                    with self.lock:
                        self.passed += len(part)
                        limit = self.cut_after
                    if limit is not None and count + len(part) > limit:
                        sink.sendall(part[:limit - count])
                        break
                    count += len(part)
                sink.sendall(part)
        except OSError:
            pass
        hang_up(source, sink)

    def cut(self):
        """Ends every connection that is open."""
        with self.lock:
            pairs, self.pairs = self.pairs, []
        for pair in pairs:
            hang_up(*pair)

    def close(self):
        self.ended = True
        hang_up(self.listener)
        self.cut()
        for thread in self.threads:
            thread.join(PATIENCE)
        for end in [self.listener, *self.sockets]:
            end.close()


class Hangup:
    """A server that takes the upgrade and the first frame, and hangs up."""

    def __enter__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()
        return self.listener.getsockname()[1]

    def _serve(self):
        while True:
            try:
                end, _ = self.listener.accept()
            except OSError:
                return
            with end:
                head = b""
                while b"\r\n\r\n" not in head:
                    head += end.recv(4096)
                key = re.search(rb"(?i)sec-websocket-key: *(\S+)", head).group(1)
                accept = base64.b64encode(hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest())
                end.sendall(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                            b"Sec-WebSocket-Accept: " + accept + b"\r\n\r\n")
                end.recv(4096)

    def __exit__(self, *_):
        hang_up(self.listener)
        self.thread.join(PATIENCE)
        self.listener.close()


class Terminal:
    """A program on a terminal of its own."""

    def __init__(self, words, env, cwd):
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen(words, stdin=slave, stdout=slave, stderr=slave, env=env, cwd=cwd,
                                        start_new_session=True)
        os.close(slave)
        self.text, self.code = "", None

    def __enter__(self):
        return self

    def _more(self):
        try:
            part = os.read(self.master, 65536)
        except OSError:  # its last end was closed
            part = b""
        self.text += part.decode()
        return bool(part)

    def wait_for(self, words):
        until = time.monotonic() + PATIENCE
        while words not in self.text:
            if not select.select([self.master], [], [], max(0, until - time.monotonic()))[0] or not self._more():
                raise AssertionError("no %r in %r" % (words, self.text))

    def finish(self):
        while self._more():
            pass
        self.code = self.process.wait(PATIENCE)
        return self.text

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(PATIENCE)
        os.close(self.master)


class SwampTest(unittest.TestCase):
    """A folder of its own with workflows, and helpers that are cleaned up after."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="swamp-test-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        os.mkdir(os.path.join(self.folder, "workflows"))
        self.write_workflow("hello", HELLO)
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("SWAMP_S", "SWAMP_C"))}
        self.env["NO_COLOR"] = "1"

    def write_workflow(self, name, text):
        with open(os.path.join(self.folder, "workflows", name + ".yaml"), "w", encoding="utf-8") as file:
            file.write(text)

    def path(self, name):
        return os.path.join(self.folder, name)

    def swamp(self, *words, env=None, stdin=None):
        done = subprocess.run([SWAMP, *words], env={**self.env, **(env or {})}, cwd=self.folder, text=True,
                              input=stdin or "", capture_output=True, timeout=PATIENCE * 2)
        return Result(done.returncode, done.stdout, done.stderr)

    def start(self, *words, env=None):
        process = Process([SWAMP, *words], {**self.env, **(env or {})}, self.folder)
        self.addCleanup(process.end)
        return process

    def serve(self, *words):
        server = Server([SWAMP, "serve", "--port", "0", "--drain-grace", "0", *words], self.env, self.folder)
        self.addCleanup(server.end)
        return server

    def proxy(self, port):
        proxy = Proxy(port)
        self.addCleanup(proxy.close)
        return proxy

    def assert_code(self, result, code):
        self.assertEqual(result.code, code, repr(result))

    def events(self, result):
        """Of a --json output, checked: seq from 1, without a hole."""
        events = [json.loads(line) for line in result.out.splitlines()]
        self.assertEqual([e["seq"] for e in events], list(range(1, len(events) + 1)))
        return events


def run_one(test):
    """Its result, and how long it took."""
    result, begun = unittest.TestResult(), time.monotonic()
    test.run(result)
    return result, time.monotonic() - begun


def main(at_once=4):
    """All tests of the program, some at a time, since most of them wait; with arguments: as unittest does.

    A line a test; of one that is skipped also the reason (scripts/summary.py reads it): a right that is missing here.
    """
    if sys.argv[1:]:
        unittest.main(verbosity=2)
    loaded = unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])
    tests = [test for group in loaded for test in group]
    good, all_skipped = len(tests) > 0, True
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        for test, (result, took_s) in zip(tests, pool.map(run_one, tests)):
            good, all_skipped = good and result.wasSuccessful(), all_skipped and bool(result.skipped)
            word = "FAILED" if not result.wasSuccessful() else "skipped" if result.skipped else "ok"
            reason = "".join(": " + why for _, why in result.skipped)
            print("%-7s %5.1f s  %s%s" % (word, took_s, test.id(), reason), flush=True)
            for where, why in [*result.failures, *result.errors]:
                print("%s: %s" % (where, why), flush=True)
    sys.exit(1 if not good else 77 if all_skipped else 0)  # 77: meson says SKIP
