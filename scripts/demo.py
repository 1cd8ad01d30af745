"""The story that scripts/demo tells: cut off, handed round, and told the truth. Every claim is checked at the end.

SWAMP_PROGRAM is the program; --keep leaves everything running. Python's standard library and haproxy, all on loopback.
"""
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

SWAMP = os.environ["SWAMP_PROGRAM"]
HERE = os.path.dirname(os.path.abspath(__file__))
STORY_ENDS_S = 85
NAMES = ["one", "two", "three"]
COLOURS = {"bold": 1, "red": 31, "green": 32, "yellow": 33, "blue": 34, "dim": 2}
RECONNECTING = "[reconnecting...]"
ELSEWHERE = "[run is on another instance, retrying...]"
INTERRUPTED = "Run was interrupted (instance died). Checking final status..."

COUNTER = """
name: counter
id: 0b0f5a34-6b52-4f0e-9a0c-5c1d6a0d8c11
version: 1
description: Count, slowly, until somebody says that it is enough
jobs:
  - name: count
    steps:
      - name: lines
        task:
          type: model_method
          modelType: command/shell
          modelName: counter
          methodName: execute
          inputs:
            env: {ENOUGH: "%s"}
            run: |
              rm -f "$ENOUGH"
              i=0
              until test -e "$ENOUGH" || test "$i" -ge 600; do
                i=$((i + 1))
                echo "line $i"
                sleep 0.25
              done
"""

HAPROXY = """
global
    nbthread 1
defaults
    mode http
    balance roundrobin
    timeout connect 2s
    timeout client 30s
    timeout server 30s
    timeout tunnel 1h    # else a run that is silent for 30 s would lose its connection each time
    retries 3
    option redispatch 1
    option httpchk GET /ready
    default-server check inter 500ms fall 2 rise 1
"""


class Trouble(Exception):
    """What ends the story early."""


def paint(colour, words):
    if not sys.stdout.isatty() or "NO_COLOR" in os.environ:
        return words
    return "\033[%dm%s\033[0m" % (COLOURS[colour], words)


def say(words="", colour=None):
    print(paint(colour, words) if colour else words, flush=True)


def chapter(words):
    say()
    say("== " + words, "bold")


class Client:
    """`swamp` with its output shown as it comes (unless quiet), kept, and waited for."""

    def __init__(self, words, quiet=False):
        self.quiet, self.lines, self.changed = quiet, [], threading.Condition()
        if not quiet:
            say("$ swamp " + " ".join(words), "blue")
        self.process = subprocess.Popen([SWAMP, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        self.threads = [threading.Thread(target=self.read, args=pair, daemon=True)
                        for pair in ((self.process.stdout, "out"), (self.process.stderr, "err"))]
        for thread in self.threads:
            thread.start()

    def read(self, stream, name):
        for line in stream:
            line = line.rstrip("\n")
            with self.changed:
                if not self.quiet:
                    say(paint("dim", "  client | ") + (line if name == "out" else paint("yellow", line)))
                self.lines.append((name, line))
                self.changed.notify_all()

    def seen(self, name):
        with self.changed:
            return [line for where, line in self.lines if where == name]

    def wait_for(self, pattern, after=0, seconds=30, must=True):
        """Waits for a line after the first `after` ones; gives the number of lines up to it. None: it did not come."""
        until = time.monotonic() + seconds
        with self.changed:
            while True:
                for number, (_, line) in enumerate(self.lines[after:], after + 1):
                    if re.search(pattern, line):
                        return number
                left = until - time.monotonic()
                over = self.process.poll() is not None and not any(t.is_alive() for t in self.threads)
                if over:
                    raise Trouble("the client ended (exit code %d) before it said %r" % (self.process.returncode, pattern))
                if left <= 0 and not must:
                    return None
                if left <= 0:
                    raise Trouble("the client did not say %r within %d s" % (pattern, seconds))
                self.changed.wait(min(left, 0.2))

    def count(self):
        with self.changed:
            return len(self.lines)

    def finish(self, seconds=30):
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise Trouble("the client did not end within %d s" % seconds) from None
        for thread in self.threads:
            thread.join(5)
        return code


class Stage:
    """The instances, the load balancer and the thing that cuts; and their end."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="swamp-demo-")
        self.store = "sqlite:" + self.path("control-plane.db")
        self.instances, self.others, self.url = {}, [], None
        os.mkdir(self.path("workflows"))
        examples = os.path.join(os.path.dirname(HERE), "examples", "workflows")
        if os.path.isdir(examples):
            shutil.copytree(examples, self.path("workflows"), dirs_exist_ok=True)
        with open(self.path("workflows/counter.yaml"), "w", encoding="ascii") as file:
            file.write(COUNTER % self.path("enough"))

    def path(self, name):
        return os.path.join(self.folder, name)

    def spawn(self, name, words, **options):
        log = open(self.path(name + ".log"), "ab")
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stderr=log, cwd=self.folder,
                                   start_new_session=True, **{"stdout": log, **options})
        log.close()
        return process

    def start_instance(self, name, port=0):
        """It advertises the balancer's door: nobody gets round the cuts by dialling it."""
        log, match = self.path(name + ".log"), None
        begun_at = os.path.getsize(log) if os.path.exists(log) else 0
        process = self.spawn(name, [SWAMP, "serve", "--port", str(port), "--store", self.store,
                                    "--heartbeat-interval", "1s", "--stale-ttl", "3s", "--drain-grace", "0s",
                                    "--reconciliation-interval", "2s", "--advertise", self.url])
        self.instances[name] = process
        while not match:
            if process.poll() is not None:
                raise Trouble("instance %s did not start" % name)
            time.sleep(0.02)
            with open(log, "rb") as file:
                file.seek(begun_at)
                match = re.search(rb"listening on (http://127\.0\.0\.1:(\d+)) \(instance (\S+),", file.read())
        process.url, process.port, process.id = match.group(1).decode(), int(match.group(2)), match.group(3).decode()

    def start_haproxy(self, doors):
        with open(self.path("haproxy.cfg"), "w", encoding="ascii") as file:
            file.write(HAPROXY)
            for number, door in enumerate(doors):
                file.write("listen door%d\n    bind fd@%d\n" % (number, door.fileno()))
                for name in NAMES:
                    file.write("    server %s 127.0.0.1:%d\n" % (name, self.instances[name].port))
        self.haproxy = self.spawn("haproxy", ["haproxy", "-db", "-f", self.path("haproxy.cfg")],
                                  stdout=subprocess.DEVNULL, pass_fds=[door.fileno() for door in doors])
        self.others.append(self.haproxy)
        for door in doors:
            door.close()

    def start_cutter(self, ports):
        self.cutter = self.spawn("cutter", [sys.executable, "-B", os.path.join(HERE, "cutter.py"), *map(str, ports)],
                                 stdout=subprocess.PIPE, text=True)
        self.others.append(self.cutter)
        return ["http://127.0.0.1:" + port for port in self.cutter.stdout.readline().split()]

    def ask(self, *words):
        done = subprocess.run([SWAMP, *words, "--json"], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=30)
        if done.returncode != 0:
            raise Trouble("swamp %s: %s" % (" ".join(words), done.stderr.strip()))
        return [json.loads(line) for line in done.stdout.splitlines()]

    def end(self):
        processes = [*self.instances.values(), *self.others]
        with open(self.path("enough"), "w", encoding="ascii"):
            pass  # for a counter whose instance is gone
        for process in processes:
            if process.poll() is None:
                process.terminate()
        for process in processes:
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


class Story:
    def __init__(self, stage):
        self.stage, self.clients, self.checks = stage, [], []

    def check(self, holds, words):
        self.checks.append((bool(holds), words))

    def client(self, *words, quiet=False):
        client = Client(words, quiet)
        self.clients.append(client)
        return client

    def set_the_stage(self):
        chapter("Three instances share one SQLite file; haproxy sends each new connection to the next one.")
        # two doors to the same instances, so that what the second viewer does changes nobody's turn
        doors = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
        ports = [door.getsockname()[1] for door in doors]
        self.url, self.quiet_url = self.stage.start_cutter(ports)
        self.stage.url = self.url
        for name in NAMES:
            self.stage.start_instance(name)
            one = self.stage.instances[name]
            say("  instance %-5s  %s  pid %d" % (name, one.url, one.pid))
        self.stage.start_haproxy(doors)
        say("  haproxy         http://127.0.0.1:%d  pid %d" % (ports[0], self.stage.haproxy.pid))
        say("  a bad network   %s  in front of it: that is where clients get cut off" % self.url)

    def begin_run(self):
        client = self.client("workflow", "run", "counter", "--server", self.url)
        client.run = re.search(r"\[run (\S+)\]", client.lines[client.wait_for(r"\[run \S+\]") - 1][1]).group(1)
        client.wait_for(r"\| line 3$")
        return client

    def owner_of(self, client):
        run = self.stage.ask("workflow", "history", "get", client.run, "--server", self.url)[0]
        return next(name for name, one in self.stage.instances.items() if one.id == run["instanceId"])

    def cut(self, client, words, number=signal.SIGUSR1, and_then=None):
        """Cuts, and waits until the client has noticed and goes on with new lines."""
        mark = client.count()
        say("  >> " + words, "red")
        self.cuts += 1
        for seconds in (2, 2, 2, 2, 20):  # a cut meets nobody while the client is still on its way back
            self.stage.cutter.send_signal(number)
            lost_at = client.wait_for("^" + re.escape(RECONNECTING), mark, seconds, must=seconds > 2)
            if lost_at:
                break
        if and_then:
            and_then()
        else:
            client.wait_for(r"\| line \d+$", lost_at)

    def cut_again_and_again(self):
        chapter("A run whose client is cut off again and again. Watch the numbers: none is missing, none comes twice.")
        self.cuts = 0
        client = self.begin_run()
        viewer = self.client("run", "attach", client.run, "--json", "--server", self.quiet_url, quiet=True)
        owner = self.owner_of(client)
        say("  It runs on instance %s. (A second viewer listens quietly and is cut off too.)" % owner, "green")
        self.cut(client, "cut 1: in the middle of the stream")
        self.cut(client, "cut 2: it has only just come back")
        self.cut(client, "cut 3: in the middle of a message", signal.SIGUSR2)
        self.cut(client, "cut 4: once more")
        while not any(ELSEWHERE in line for line in client.seen("err")) and self.cuts < 8:
            self.cut(client, "cut %d: by chance it never met another instance, so again" % (self.cuts + 1))
        words = "cut %d: and now the run ends while nobody is there to hear it" % (self.cuts + 1)
        self.cut(client, words, and_then=self.enough)
        code, viewer_code = client.finish(), viewer.finish()
        self.check_first_run(client, viewer, code, viewer_code)

    def enough(self):
        with open(self.stage.path("enough"), "w", encoding="ascii"):
            pass

    def check_first_run(self, client, viewer, code, viewer_code):
        lines = [int(m.group(1)) for m in (re.search(r"\| line (\d+)$", line) for line in client.seen("out")) if m]
        seqs = [json.loads(line)["seq"] for line in viewer.seen("out")]
        err = client.seen("err")
        cuts, elsewhere = err.count(RECONNECTING), err.count(ELSEWHERE)
        record = self.stage.ask("workflow", "history", "get", client.run, "--server", self.url)[0]
        self.check(lines and lines == list(range(1, len(lines) + 1)),
                   "lines 1 to %d, each exactly once and in order" % len(lines))
        self.check(seqs and seqs == list(range(1, len(seqs) + 1)),
                   "events 1 to %d, each exactly once and in order, at a second viewer" % len(seqs))
        self.check(cuts >= self.cuts >= 5, "%d cuts, and the client came back %d times" % (self.cuts, cuts))
        self.check(elsewhere > 0, "it met another instance %d times and still found its run" % elsewhere)
        self.check((code, viewer_code, record["status"]) == (0, 0, "succeeded"),
                   "the run %s; exit codes %d and %d" % (record["status"], code, viewer_code))

    def kill_the_owner(self):
        chapter("Another run. This time its instance is killed: no good-bye, no clean-up, kill -9.")
        client = self.begin_run()
        self.victim = self.owner_of(client)
        mark = client.count()
        say("  >> kill -9 instance %s" % self.victim, "red")
        self.stage.instances[self.victim].kill()
        begun = time.monotonic()
        client.wait_for("^" + re.escape(INTERRUPTED), mark)
        code = client.finish()
        took_s = time.monotonic() - begun
        say("  exit code %d, %.1f s after the death" % (code, took_s), "green")
        chapter("What the two that are left say")
        self.client("run", "history", "--server", self.url).finish()
        self.client("cluster", "instances", "--server", self.url).finish()
        record = self.stage.ask("workflow", "history", "get", client.run, "--server", self.url)[0]
        alive = {row["instanceId"] for row in self.stage.ask("cluster", "instances", "--server", self.url)}
        self.check(INTERRUPTED in client.seen("err"), "the death of the instance was reported as what it was")
        self.check((record["status"], record.get("interruptReason")) == ("failed", "instance_dead"),
                   "final status: %s (%s)" % (record["status"], record.get("interruptReason")))
        self.check(any("final status: failed" in line for line in client.seen("err")) and code == 3,
                   "the client said so too, with exit code %d" % code)
        self.check(len(alive) == 2 and self.stage.instances[self.victim].id not in alive,
                   "%d instances are left, and know it" % len(alive))

    def verdict(self):
        chapter("What was really seen")
        for holds, words in self.checks:
            say("  %s  %s" % (paint("green", "ok ") if holds else paint("red", "NO "), words))
        return len(self.checks) == 9 and all(holds for holds, _ in self.checks)

    def leave_running(self):
        stage = self.stage
        stage.start_instance(self.victim, stage.instances[self.victim].port)
        pids = [process.pid for process in [*stage.instances.values(), *stage.others]]
        with open(stage.path("stop"), "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n# Ends what the demo left running.\ntouch '%s'\nkill %s\nrm -r '%s'\n"
                       % (stage.path("enough"), " ".join(map(str, pids)), stage.folder))
        os.chmod(stage.path("stop"), 0o700)
        chapter("Yours to play with (instance %s was started again)" % self.victim)
        rel = os.path.relpath(SWAMP)
        for words, command in [
            ("a run that counts", "%s workflow run counter --server %s" % (rel, self.url)),
            ("  enough of it", "touch %s" % stage.path("enough")),
            ("cut every client off", "kill -USR1 %d" % stage.cutter.pid),
            ("  in mid-message", "kill -USR2 %d" % stage.cutter.pid),
            *[("kill instance %s" % name, "kill -9 %d" % one.pid) for name, one in stage.instances.items()],
            ("who is alive", "%s cluster instances --server %s" % (rel, self.url)),
            ("what ran", "%s run history --server %s" % (rel, self.url)),
            ("watch a run", "%s run attach RUN --server %s" % (rel, self.url)),
            ("workflows, logs", "ls %s" % stage.folder),
            ("end all of it", stage.path("stop")),
        ]:
            say("  %-21s %s" % (words, paint("blue", command)))

    def end(self):
        for client in self.clients:
            if client.process.poll() is None:
                client.process.kill()
                client.process.wait()


def too_long(*_):
    raise Trouble("it took more than %d s" % STORY_ENDS_S)


def stopped(*_):
    raise Trouble("stopped by a signal")


def show_logs(folder):
    for name in sorted(os.listdir(folder)):
        if name.endswith(".log"):
            with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
                for line in file.readlines()[-8:]:
                    say("  %s: %s" % (name, line.rstrip()), "dim")


def main():
    keep, kept, good = "--keep" in sys.argv[1:], False, False
    for variable in [name for name in os.environ if name.startswith("SWAMP_") and name != "SWAMP_PROGRAM"]:
        del os.environ[variable]  # a server or a store of the user's has no part in this
    signal.signal(signal.SIGALRM, too_long)
    signal.signal(signal.SIGTERM, stopped)
    signal.signal(signal.SIGHUP, stopped)
    signal.alarm(STORY_ENDS_S)
    begun, stage = time.monotonic(), Stage()
    story = Story(stage)
    try:
        story.set_the_stage()
        story.cut_again_and_again()
        story.kill_the_owner()
        good = story.verdict()
        signal.alarm(0)
        if keep:
            story.leave_running()
            kept = True
    except (Trouble, OSError, KeyboardInterrupt) as trouble:
        say()
        say("scripts/demo: %s" % (str(trouble) or "stopped"), "red")
        show_logs(stage.folder)
        good = False
    finally:
        signal.alarm(0)
        story.end()
        if not kept:
            stage.end()
    say()
    say("All of it was really seen, in %d s." % (time.monotonic() - begun) if good else "Not all of it was seen.",
        "green" if good else "red")
    return 0 if good else 1


sys.exit(main())
