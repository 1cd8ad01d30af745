"""Runs, cuts, kills, pauses, restarts and stops at random for --minutes, then the verdict. Started by scripts/soak.

Checked: one final status per run, never changed, and the one that its clients were told; no record left over; every
client ended with the final status or an exact error; no event twice or out of order, every hole reported; no process
left; memory, descriptors, WAL and records flat.
"""
import argparse
import fcntl
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time

from soak_clients import Crowd
from soak_stage import PREFIXES, SWAMP, TTL_S, Stage, Watch, process_figures

SAMPLE_S = 5
REPORT_S = 60
WAL_MAX_KIB = 64 * 1024
SETTLE_S = 120


class Soak:
    def __init__(self, minutes, seed):
        self.dice, self.minutes, self.seed = random.Random(seed), minutes, seed
        self.faults, self.fault_counts, self.acts, self.samples = [], {}, {}, []
        self.fault_lock, self.begun = threading.Lock(), time.monotonic()
        self.stage = Stage()
        self.watch = Watch(self.stage, self.fault)
        self.crowd = Crowd(self.stage, self.watch, random.Random(seed + 1), self.fault)

    def say(self, words):
        print("%7.1f  %s" % (time.monotonic() - self.begun, words), flush=True)

    def fault(self, kind, words):
        with self.fault_lock:
            self.fault_counts[kind] = self.fault_counts.get(kind, 0) + 1
            self.faults.append((kind, words))
            if self.fault_counts[kind] <= 20:
                self.say("FAULT %s: %s" % (kind, words))

    # ---- trouble ----

    def fit(self):
        """Instances that may be disturbed now: one at least must stay, or nobody could promise anything."""
        ready = [one for one in self.stage.instances if not one.is_paused and one.process.poll() is None and one.is_ready()]
        return ready if len(ready) > 1 else []

    def trouble(self, share):
        """One act. In the last part of the time "three" is only cut, and "two" never killed: their memory is to be seen."""
        ready = self.fit()
        acts = [self.cut, self.cut, self.cut, self.halve, self.hold_lock]
        one = self.dice.choice(ready) if ready else None
        if one and (share < 0.3 or one.name != "three"):
            acts += [self.freeze, self.freeze, self.blink]
            if share < 0.3 or one.name == "one":
                acts += [self.kill, self.kill, self.stop, self.stop_twice]
            if share < 0.3:
                acts += [self.roll]
        act = self.dice.choice(acts)
        self.acts[act.__name__] = self.acts.get(act.__name__, 0) + 1
        act(one)

    def cut(self, _):
        self.dice.choice(self.stage.cutters).send_signal(signal.SIGUSR1)

    def halve(self, _):
        self.dice.choice(self.stage.cutters).send_signal(signal.SIGUSR2)

    def kill(self, one):
        one.send(signal.SIGKILL)
        one.process.wait()
        self.wait(self.dice.choice([0, 0, 1, 2 * TTL_S]))
        one.start()

    def freeze(self, one):
        """Longer than the others bear: a zombie wakes up."""
        one.pause(True)
        self.wait(self.dice.uniform(1.5, 3) * TTL_S)
        one.pause(False)

    def blink(self, one):
        """Shorter: nobody may be declared dead for it, but nothing says that nobody is."""
        one.pause(True)
        self.wait(self.dice.uniform(0.1, 0.5) * TTL_S)
        one.pause(False)

    def stop(self, one):
        one.send(signal.SIGTERM)
        self.await_end(one)
        one.start()

    def stop_twice(self, one):
        one.send(signal.SIGTERM)
        self.wait(self.dice.uniform(0, 1.5))
        if one.process.poll() is None:
            one.send(signal.SIGTERM)
        self.await_end(one)
        one.start()

    def roll(self, _):
        for one in self.stage.instances:
            self.stop(one)
            until = time.monotonic() + 30
            while not one.is_ready() and time.monotonic() < until:
                time.sleep(0.1)

    def hold_lock(self, _):
        """Nobody can write for a while."""
        with open(self.stage.database + ".lock", "rb+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            self.wait(self.dice.uniform(0.1, 3))

    def wait(self, seconds):
        time.sleep(seconds)

    def await_end(self, one):
        try:
            one.process.wait(60)
        except subprocess.TimeoutExpired:
            self.fault("stop took too long", "instance %s\n%s" % (one.name, one.tail()))
            one.process.kill()
            one.process.wait()
        self.check_code(one)

    def check_code(self, one):
        code = one.process.returncode
        if code not in one.expected[one.process.pid]:
            self.fault("instance ended", "%s with %s\n%s" % (one.name, code, one.tail()))

    def watch_instances(self):
        for one in self.stage.instances:
            if one.process.poll() is not None:
                self.check_code(one)
                one.start()

    # ---- figures ----

    def sample(self):
        wal = self.stage.database + "-wal"
        row = {"at": time.monotonic() - self.begun, "wal": os.path.getsize(wal) // 1024 if os.path.exists(wal) else 0,
               "records": self.watch.counts()}
        for one in self.stage.instances:
            figures = process_figures(one.process.pid)
            if figures:
                row[one.name] = (one.process.pid, *figures)
        self.samples.append(row)

    def report(self):
        row = self.samples[-1]
        self.say("runs %d  faults %d  wal %d KiB  %s  %s" % (
            self.crowd.counters["runs"], len(self.faults), row["wal"],
            "  ".join("%s %d KiB/%d fds" % (one.name, *row[one.name][1:]) for one in self.stage.instances if one.name in row),
            " ".join("%s=%d" % (prefix, row["records"][prefix]) for prefix in PREFIXES)))

    def check_flat(self):
        """Of each process that lived long: the last third against the middle one."""
        self.flat = []
        for name in [one.name for one in self.stage.instances]:
            rows = [row for row in self.samples if name in row and row[name][0] == self.samples[-1].get(name, (0,))[0]]
            if len(rows) * SAMPLE_S < 240:
                continue
            third = len(rows) // 3
            for index, what, slack in ((1, "RSS KiB", 4096), (2, "descriptors", 20)):
                middle = sorted(row[name][index] for row in rows[third:2 * third])[third // 2]
                late = sorted(row[name][index] for row in rows[-third:])[third // 2]
                self.flat.append("%s %s: %d, then %d" % (name, what, middle, late))
                if late > middle * 1.3 + slack:
                    self.fault("not flat", self.flat[-1])
        largest = max(row["wal"] for row in self.samples)
        self.flat.append("WAL: at most %d KiB" % largest)
        if largest > WAL_MAX_KIB:
            self.fault("not flat", "the WAL grew to %d KiB" % largest)

    # ---- the story ----

    def work(self):
        self.stage.set()
        self.crowd.start(8)
        end, next_sample, next_report, next_trouble = self.begun + self.minutes * 60, 0, 0, 0
        trouble = None
        while time.monotonic() < end:
            now = time.monotonic()
            if trouble is None or not trouble.is_alive():
                if trouble is None or now >= next_trouble:
                    self.watch_instances()
                    share = (now - self.begun) / (self.minutes * 60)
                    trouble = threading.Thread(target=self.guarded, args=(self.trouble, share), daemon=True)
                    trouble.start()
                    next_trouble = now + self.dice.uniform(0.5, 5)
            if now >= next_sample:
                self.sample()
                self.crowd.judge()
                next_sample = now + SAMPLE_S
            if now >= next_report:
                self.report()
                next_report = now + REPORT_S
            time.sleep(0.25)
        trouble.join()

    def guarded(self, act, *args):
        try:
            act(*args)
        except Exception as trouble:  # noqa: the soak goes on and tells
            self.fault("the soak itself", repr(trouble))

    def settle(self):
        """Calm: clients end, everything that is not history goes."""
        self.say("calm: waiting for the clients, then for what is to be cleared away")
        self.crowd.over.set()
        for thread in self.crowd.threads:
            thread.join(300)
        self.sample()
        self.check_flat()
        until, left = time.monotonic() + SETTLE_S, None
        while time.monotonic() < until:
            alive = {open(self.stage.path(one.name + ".id"), encoding="ascii").read().strip() for one in self.stage.instances}
            left = [key for prefix in ("active-runs", "instance-runs", "cancel-requests") for key in self.watch.keys(prefix)]
            left += [key for key in self.watch.keys("heartbeats") if key.split("/")[1] not in alive]
            if not left and not self.stage.processes():
                break
            time.sleep(0.5)
        for key in left:
            self.fault("record left over", key)
        for pid, words in self.stage.processes():
            self.fault("process left over", "%d %s" % (pid, words[:100]))
        self.crowd.judge(is_last=True)
        self.check_doctor()

    def check_doctor(self):
        done = subprocess.run([SWAMP, "doctor", "--store", self.stage.store], capture_output=True, text=True, timeout=120)
        for line in done.stdout.splitlines():
            if line.startswith("!!") and "SQLite" not in line:
                self.fault("doctor", line)

    def stop_all(self):
        for one in self.stage.instances:
            one.send(signal.SIGTERM)
        for one in self.stage.instances:
            self.await_end(one)
        link = sqlite3.connect(self.stage.database)
        keys = [key for key, in link.execute("SELECT key FROM records")]
        verdict = link.execute("PRAGMA integrity_check").fetchone()[0]
        statuses = [json.loads(value)["status"] for value, in link.execute(
            "SELECT value FROM records WHERE key >= 'runs/' AND key < 'runs0'")]
        link.close()
        if verdict != "ok":
            self.fault("integrity", verdict)
        runs = {key.split("/")[1] for key in keys if key.startswith("runs/")}
        for key in keys:
            kind, last = key.split("/")[0], key.rsplit("/", 1)[1]
            if kind in ("heartbeats", "active-runs", "instance-runs", "cancel-requests") or last not in runs:
                self.fault("record left over after the stop", key)
        for status in statuses:
            if status not in ("succeeded", "failed", "cancelled"):
                self.fault("run without an end", status)

    def verdict(self):
        counters = self.crowd.counters
        print("\nsoak: %.1f minutes, seed %d: %s" % (self.minutes, self.seed, "good" if not self.faults else
                                                     "%d FAULTS" % len(self.faults)))
        print("  trouble   " + ", ".join("%s %d" % pair for pair in sorted(self.acts.items())))
        print("  starts    " + ", ".join("%s %d" % (one.name, one.starts) for one in self.stage.instances))
        print("  clients   " + ", ".join("%s %d" % pair for pair in counters.items()) +
              ", slowest %.1f s" % self.crowd.slowest_s)
        print("  ends      " + ", ".join("%s %d" % pair for pair in sorted(self.crowd.ends.items())))
        print("  final     %d records seen, each with one value" % len(self.watch.finals))
        print("  flat      " + "; ".join(self.flat))
        middle = self.samples[len(self.samples) // 2]["records"]
        print("  records   " + ", ".join("%s %d then %d" % (p, middle[p], self.samples[-1]["records"][p]) for p in PREFIXES))
        for kind, number in sorted(self.fault_counts.items()):
            print("  FAULT     %s: %d" % (kind, number))
        sys.stdout.flush()
        return 1 if self.faults else 0


def main():
    reader = argparse.ArgumentParser(prog="scripts/soak")
    reader.add_argument("--minutes", type=float, default=30)
    reader.add_argument("--seed", type=int, default=1)
    reader.add_argument("--keep", action="store_true", help="leave the store and the logs there")
    given = reader.parse_args()
    for variable in [name for name in os.environ if name.startswith("SWAMP_") and name != "SWAMP_PROGRAM"]:
        del os.environ[variable]
    soak = Soak(given.minutes, given.seed)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    soak.say("folder %s, seed %d" % (soak.stage.folder, given.seed))
    try:
        soak.work()
        soak.settle()
        soak.stop_all()
        return soak.verdict()
    finally:
        soak.crowd.over.set()
        soak.stage.end(given.keep or bool(soak.faults))


sys.exit(main())
