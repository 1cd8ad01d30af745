"""The clients of scripts/soak: people who run, follow, cancel and ask, and who check every word that they are told."""
import json
import re
import signal
import subprocess
import threading
import time

from soak_stage import SWAMP, WORKFLOWS

PATIENCE_S = 180  # no command may take longer, whatever happens
# exit code 4, 7: the words that PROTOCOL 7 allows them for
LOST = {
    "lost before accepted": r"may or may not have been started",
    "could not connect": r"check that the server runs there",
    "connection gave up": r"the run may go on: follow it with",
}


class Followed:
    """What one `workflow run` or `run attach` with --json said."""

    def __init__(self, code, out, err, started_s):
        self.code, self.out, self.err, self.took_s = code, out.splitlines(), err.splitlines(), time.monotonic() - started_s
        self.news = [json.loads(line) for line in self.err if line.startswith("{")]
        self.run = next((n["runId"] for n in self.news if n["swamp"] in ("accepted", "attached", "done") and n.get("runId")), None)

    def count(self, name):
        return sum(n["swamp"] == name for n in self.news)

    def last(self):
        return self.err[-1] if self.err else "(nothing on stderr)"


class Crowd:
    """Threads that do one thing after another until told to stop."""

    def __init__(self, stage, watch, dice, fault):
        self.stage, self.watch, self.dice, self.fault = stage, watch, dice, fault
        self.lock, self.over, self.threads = threading.Lock(), threading.Event(), []
        self.ends, self.counters = {}, dict.fromkeys(["runs", "reconnects", "elsewhere", "gaps", "events", "viewers", "cancels"], 0)
        self.active, self.told, self.to_judge, self.slowest_s = {}, {}, [], 0

    def start(self, count):
        for _ in range(count):
            thread = threading.Thread(target=self.live, daemon=True)
            self.threads.append(thread)
            thread.start()

    def add(self, name, number=1):
        with self.lock:
            self.counters[name] += number

    def pick(self, items):
        with self.lock:
            return self.dice.choice(items)

    def chance(self, probability):
        with self.lock:
            return self.dice.random() < probability

    def live(self):
        while not self.over.is_set():
            try:
                self.pick([self.run, self.run, self.run, self.run, self.view, self.view, self.cancel, self.ask])()
            except Exception as trouble:  # noqa: a client that fails must not silence the soak
                self.fault("client broke", repr(trouble))
            with self.lock:
                pause_s = self.dice.uniform(0, 1.5)
            self.over.wait(pause_s)

    def command(self, *words, interrupt_after_s=None):
        begun = time.monotonic()
        process = subprocess.Popen([SWAMP, *words, "--json", "--server", self.pick(self.stage.urls)], text=True,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            if interrupt_after_s is not None:
                timer = threading.Timer(interrupt_after_s, process.send_signal, [signal.SIGINT])
                timer.start()
            out, err = process.communicate(timeout=PATIENCE_S)
            if interrupt_after_s is not None:
                timer.cancel()
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            self.fault("client hung", "swamp %s: %s" % (" ".join(words), err[-600:]))
            return None
        with self.lock:
            self.slowest_s = max(self.slowest_s, time.monotonic() - begun)
        return Followed(process.returncode, out, err, begun)

    # ---- what they do ----

    def run(self):
        name, interrupt = self.pick(list(WORKFLOWS)), None
        if self.chance(0.06):
            interrupt = 1.0
        me = object()
        with self.lock:
            self.active[me] = None
        self.add("runs")
        process = self.follow_started(name, me, interrupt)
        with self.lock:
            self.active.pop(me)
        if process:
            self.check(process, name, 0, interrupt is not None)

    def follow_started(self, name, me, interrupt):
        """Like command(), and others learn the run id as soon as it is known."""
        begun = time.monotonic()
        process = subprocess.Popen([SWAMP, "workflow", "run", name, "--json", "--server", self.pick(self.stage.urls)],
                                   text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        out, err, timers = [], [], [threading.Timer(PATIENCE_S, process.kill)]
        if interrupt is not None:
            timers.append(threading.Timer(interrupt, process.send_signal, [signal.SIGINT]))
        reader = threading.Thread(target=lambda: out.append(process.stdout.read()), daemon=True)
        for thread in [reader, *timers]:
            thread.start()
        for line in process.stderr:
            err.append(line)
            match = re.search(r'"accepted","runId":"([^"]+)"', line)
            if match:
                with self.lock:
                    self.active[me] = match.group(1)
        process.wait()
        reader.join()
        for timer in timers:
            timer.cancel()
        process.stdout.close()
        process.stderr.close()
        done = Followed(process.returncode, out[0], "".join(err), begun)
        with self.lock:
            self.slowest_s = max(self.slowest_s, done.took_s)
        if process.returncode == -signal.SIGKILL:
            self.fault("client hung", "workflow run %s: %s" % (name, "".join(err)[-600:]))
            return None
        return done

    def some_run(self):
        with self.lock:
            known = [run for run in self.active.values() if run]
            ended = list(self.told)[-30:]
            return self.dice.choice(known or ended or [None]) if self.dice.random() < 0.8 else self.dice.choice(ended or [None])

    def view(self):
        run = self.some_run()
        if run:
            self.add("viewers")
            followed = self.command("run", "attach", run)
            if followed:
                followed.run = run
                self.check(followed, None, 0, False)

    def cancel(self):
        run = self.some_run()
        if not run or self.chance(0.5):
            return
        self.add("cancels")
        done = self.command("run", "cancel", run, "--reason", "soak")
        if done and done.code not in (0, 4, 5, 7):
            self.fault("cancel", "run %s: exit %d: %s" % (run, done.code, done.last()))
        self.note("cancel exit %d" % done.code if done else "cancel hung")

    def ask(self):
        words = self.pick([["run", "history"], ["run", "history", "--active"], ["cluster", "instances"], ["workflow", "list"],
                           ["workflow", "history", "get", "quick"]])
        done = self.command(*words)
        if done and done.code not in (0, 4, 5, 7):
            self.fault("question", "%s: exit %d: %s" % (" ".join(words), done.code, done.last()))

    # ---- what they check ----

    def note(self, what):
        with self.lock:
            self.ends[what] = self.ends.get(what, 0) + 1

    def check(self, done, name, after, interrupted):
        for what, member in (("reconnects", "reconnecting"), ("elsewhere", "elsewhere"), ("gaps", "gap")):
            self.add(what, done.count(member))
        self.add("events", len(done.out))
        lines = self.check_sequence(done, after)
        # what ended while nobody held it may have gone with its instance: then that was told
        if done.code == 0 and name and not done.count("gap") and lines != ["line %d" % (i + 1) for i in range(WORKFLOWS[name][1])]:
            self.fault("output", "run %s of %s: %d lines, %s" % (done.run, name, len(lines), done.err))
        kind = self.kind_of(done, interrupted)
        self.note(kind or "?")
        if kind is None:
            self.fault("end without an exact word", "run %s (%s), exit %d: %s" % (done.run, name, done.code, done.err[-4:]))
        elif done.run and kind not in LOST and kind != "not recorded":
            with self.lock:
                self.to_judge.append((done.run, kind, done.err[-3:]))
                self.told[done.run] = kind

    def check_sequence(self, done, after):
        """Every seq once and in order, every hole announced exactly. Gives the lines of output."""
        holes = {(n["fromSeq"], n.get("toSeq")) for n in done.news if n["swamp"] == "gap"}
        last, lines = after, []
        for text in done.out:
            event = json.loads(text)
            if event["seq"] <= last:
                self.fault("event twice or out of order", "run %s: %d after %d" % (done.run, event["seq"], last))
            elif event["seq"] > last + 1 and (last + 1, event["seq"] - 1) not in holes:
                self.fault("hole not reported", "run %s: %d after %d, told: %s" % (done.run, event["seq"], last, holes))
            last = max(last, event["seq"])
            if event["kind"] == "method_output":
                lines.append(event["line"])
        return lines

    def kind_of(self, done, interrupted):
        """What the client was told, in one word; None: nothing that CLI.md or PROTOCOL 7 promises."""
        if done.code in (0, 1, 130) and done.run:
            return {0: "succeeded", 1: "failed or cancelled", 130: "Ctrl-C"}[done.code]
        if done.code == 130 and interrupted:
            return "Ctrl-C before accepted"
        if done.code == 3 and "was interrupted" in done.last() and "not recorded" not in done.last():
            return "interrupted"
        if done.code == 3 and "final status not recorded" in done.last():
            return "not recorded"  # nobody who could be asked had it within 2 x TTL, which is short here
        if done.code == 4:
            return next((kind for kind, words in LOST.items() if re.search(words, done.last())), None)
        if done.code == 5 and done.run:
            return "not found"
        return "refused for now" if done.code == 7 and "nothing was started" in done.last() else None

    def judge(self, is_last=False):
        """Compares what clients were told with the record."""
        with self.lock:
            waiting, self.to_judge = self.to_judge, []
        self.watch.look()
        for run, kind, words in waiting:
            record = self.watch.finals.get(run)
            if not record:
                if is_last and kind not in ("Ctrl-C", "not found"):
                    self.fault("told an end that is not recorded", "run %s: %s" % (run, kind))
                elif not is_last:
                    with self.lock:
                        self.to_judge.append((run, kind, words))
                continue
            reason, status = record.get("interruptReason"), record["status"]
            good = {"succeeded": status == "succeeded" and not reason, "interrupted": bool(reason),
                    "failed or cancelled": status in ("failed", "cancelled") and not reason,
                    "Ctrl-C": True}.get(kind, False)
            if not good:
                self.fault("told something else than the record", "run %s: %s, but %s %s: %s" % (run, kind, status, reason, words))
