"""The shared store under bad luck: a lock that is held, records that are no records, clocks that are hours off, doctor."""
import contextlib
import json
import os
import re
import signal
import sqlite3
import time

import swamp_test
from cluster import QUICK, TTL_S, ClusterTest, Ready
from swamp_test import wait_until

GONE = "01a00000-0000-7000-8000-%012x"  # run ids that no instance made
# beats every 100 ms, so that many ticks pass in a second
FAST = ["--heartbeat-interval", "100ms", "--stale-ttl", "1s", "--reconciliation-interval", "100ms"]
# Among the bad records is a heartbeat of 10 MB, which each pulse reads. Under ThreadSanitizer (scripts/full/tsan gives more
# patience) that takes longer than half of the usual interval, and who is late declares nobody dead.
PATIENT = ["--heartbeat-interval", "8s", "--stale-ttl", "24s", "--reconciliation-interval", "1s", "--drain-timeout", "20s"]
WRONG_CLOCK = os.environ["WRONG_CLOCK"]  # tests/support/wrong_clock.c, set by meson


class Lock(ClusterTest):
    def test_a_process_stopped_while_it_holds_the_lock_kills_nobody_when_it_goes_on(self):
        one, two = self.instance(), self.instance()
        client, run = self.begin(one.url)
        revisions = lambda: dict(self.query("SELECT key, revision FROM records WHERE key LIKE 'heartbeats/%'"))
        holder = self.hold_lock()
        holder.send_signal(signal.SIGSTOP)
        before = revisions()
        time.sleep(2 * TTL_S)  # the fault itself: nobody's beats get through for so long
        self.assertEqual(revisions(), before)
        self.assertEqual(Ready(one.port).body["status"], "degraded")
        holder.send_signal(signal.SIGCONT)
        holder.stdin.close()
        holder.wait()
        wait_until(lambda: all(revisions()[key] > before[key] for key in before), "beats of both")
        beaten = revisions()  # and for more than a TTL after it nobody is declared dead either
        wait_until(lambda: all(revisions()[key] > beaten[key] + 5 for key in beaten), "more beats of both")
        self.assertEqual(self.alive(), {one.instance, two.instance})
        self.go()
        done = client.wait()
        self.assert_code(done, 0)
        self.events(done)
        for server in (one, two):
            self.assertNotIn("declared dead: its", "\n".join(server.lines["err"]))

    def test_a_third_signal_does_not_wait_for_the_store(self):
        server = self.instance()
        client, run = self.begin(server.url)
        self.hold_lock()
        for said in ("stopping: ", "stopping at once: .*; once more ends this process"):
            server.send(signal.SIGTERM)
            server.wait_line("err", said)
        server.send(signal.SIGTERM)
        self.assert_code(server.wait(), -signal.SIGTERM)  # by itself it would end with 0
        self.assertEqual(self.record(run)["status"], "running")

    def test_a_third_signal_ends_a_start_that_waits_for_the_store(self):
        self.instance().end()  # a store that is whole is opened without the lock
        self.hold_lock()
        server = self.start("serve", "--port", "0")
        wait_until(lambda: self.database + ".lock" in self.open_files(server.process.pid), "the lock to be opened")
        for _ in range(3):
            server.send(signal.SIGTERM)
            wait_until(lambda: server.process.poll() is not None or not self.has_pending(server.process.pid),
                       "the signal to be taken")
        done = server.wait()
        self.assert_code(done, -signal.SIGTERM)
        self.assertNotIn("listening", done.out)  # which comes after 5 s with the store down

    def open_files(self, pid):
        folder = "/proc/%d/fd/" % pid
        return [os.path.realpath(folder + name) for name in os.listdir(folder)]

    def has_pending(self, pid):
        with open("/proc/%d/status" % pid, encoding="ascii") as file:
            return int(re.search(r"^ShdPnd:\s*(\w+)", file.read(), re.M).group(1), 16) != 0

    def test_the_lock_of_a_process_that_dies_is_free_and_a_run_that_ended_meanwhile_is_recorded(self):
        one = self.instance()
        client, run = self.begin(one.url)
        holder = self.hold_lock()
        holder.send_signal(signal.SIGSTOP)
        self.go()
        client.wait_line("out", "gone on")
        self.assertEqual(self.record(run)["status"], "running")  # nothing is told before it is written
        self.assertFalse([line for line in client.lines["out"] if '"completed"' in line])
        holder.kill()
        done = client.wait()
        self.assert_code(done, 0)
        self.events(done)
        self.assertEqual(self.record(run)["status"], "succeeded")
        self.assertEqual(self.keys("active-runs/"), [])
        self.assertEqual(self.query("PRAGMA integrity_check"), [("ok",)])

    def test_a_start_that_cannot_be_recorded_is_refused_and_leaves_nothing(self):
        one = self.instance()
        holder = self.hold_lock()
        answer = self.ask(one.port, {"type": "workflow.run", "id": "r", "payload": {"workflowIdOrName": "held"}})
        self.assertEqual((answer["type"], answer["error"]["code"]), ("error", "unavailable"))
        self.assertEqual(self.commands("test -e go"), [])
        holder.kill()
        wait_until(lambda: Ready(one.port).body["status"] == "ready", "/ready")
        self.assertEqual({key.split("/")[0] for key in self.keys()}, {"heartbeats"})


class Replaced(ClusterTest):
    def test_a_store_that_another_one_stands_in_for_a_while_declares_nobody_dead(self):
        one, two = self.instance(), self.instance()
        client, run = self.begin(one.url)
        ends, away = ("", "-wal", "-shm"), self.path("away")
        for end in ends:
            os.rename(self.database + end, away + end)
        self.assert_code(self.swamp("workflow", "run", "hello"), 0)  # makes another one, which knows nobody
        for server in (one, two):
            wait_until(lambda: Ready(server.port).body["status"] == "degraded", "a store that is not theirs")
        answer = self.attach(two.port, run)
        self.assertEqual((answer["type"], answer["error"]["code"]), ("error", "unavailable"))  # and not: not_found
        for end in ends:
            if os.path.exists(self.database + end):
                os.unlink(self.database + end)
            os.rename(away + end, self.database + end)
        for server in (one, two):
            wait_until(lambda: Ready(server.port).body["status"] == "ready", "the store")
        self.go()
        done = client.wait()
        self.assert_code(done, 0)
        self.events(done)
        self.assertEqual(self.record(run)["status"], "succeeded")
        self.assertEqual(self.alive(), {one.instance, two.instance})


class Clocks(ClusterTest):
    """No false death and no immortality, whatever the wall clock of one instance says."""

    def test_a_clock_that_is_hours_behind(self):
        self.check_clock({"WRONG_CLOCK_S": "-18000"})

    def test_a_clock_that_is_hours_ahead_and_runs_three_times_as_fast(self):
        self.check_clock({"WRONG_CLOCK_S": "25200", "WRONG_CLOCK_DRIFT": "2"})

    def test_a_clock_that_steps_by_an_hour_each_second(self):
        self.check_clock({"WRONG_CLOCK_STEP_S": "3600"})

    def check_clock(self, way):
        # a sanitizer wants to be the first library; it may be the second here
        env = {"LD_PRELOAD": WRONG_CLOCK, **way, "ASAN_OPTIONS": "verify_asan_link_order=0"}
        odd, right = self.instance(env=env), self.instance()
        kept, run = self.begin(odd.url)
        beats = lambda: dict(self.query("SELECT key, revision FROM records WHERE key LIKE 'heartbeats/%'"))
        first = beats()
        wait_until(lambda: all(beats()[key] > first[key] + 12 for key in first), "beats for more than a TTL")
        self.assertEqual(self.alive(), {odd.instance, right.instance})
        rows = [json.loads(l) for l in self.swamp("cluster", "instances", "--json", "--server", right.url).out.splitlines()]
        self.assertEqual([row["status"] for row in rows], ["healthy", "healthy"])
        clock = r"instance %s .*its clock is \d+ s (ahead of|behind)" % odd.instance
        # one that steps is right for every other second
        wait_until(lambda: re.search(clock, self.swamp("doctor").out), "doctor to find the clock")
        odd.send(signal.SIGKILL)
        record = self.wait_final(run)
        self.assertEqual((record["status"], record["interruptReason"]), ("failed", "instance_dead"))
        self.assertEqual(self.alive(), {right.instance})
        kept.end()
        # and the other way round: the one whose clock is off sees a death
        odd = self.instance(env=env)
        kept, run = self.begin(right.url)
        right.send(signal.SIGKILL)
        self.assertEqual(self.wait_final(run)["interruptReason"], "instance_dead")
        kept.end()
        odd.send(signal.SIGTERM)
        self.assert_code(odd.wait(), 0)


class BadRecords(ClusterTest):
    BAD = ["this is not JSON", "", "{}", "[]", "null", '{"instanceId": 7, "status": {}, "id": []}', "{" * 5000,
           '{"version": 99, "instanceId": "%s", "id": "x", "status": "levitating", "later": [1, {"a": "b"}]}' % ("i" * 300),
           b"\xff\xfe{}", '"' + "x" * (10 << 20) + '"', '{"id":"x","status":"running","jobs":[' + "[" * 200 + "]" * 200 + "]}"]

    def plant(self, me):
        """Each bad value in each place; gives the keys."""
        bad = {}
        for number, value in enumerate(self.BAD):
            run, owner = GONE % number, "0000beef-0000-4000-8000-%012x" % number
            bad["heartbeats/" + owner] = value
            bad["active-runs/" + run] = value
            # of runs of their own: who is dead by its key has its run taken away, whatever the values say
            bad["instance-runs/%s/%s" % (owner, GONE % (100 + number))] = value
            bad["runs/" + run] = value
            bad["workflow-runs/w/" + run] = value
            bad["workflow-names/hello/" + run] = value
            bad["cancel-requests/%s/%s" % (me, run)] = value
        self.put(bad)
        return bad

    def must_be_named(self, me, is_first):
        """Heartbeats are gone before the second instance starts, and cancel requests are read by the one they are for."""
        keys = {"%s/%s" % (place, GONE % number) for number in range(len(self.BAD)) for place in ("active-runs", "runs")}
        if is_first:
            keys |= {"heartbeats/0000beef-0000-4000-8000-%012x" % number for number in range(len(self.BAD))}
            objects = [n for n, value in enumerate(self.BAD) if isinstance(value, str) and self.is_object(value)]
            keys |= {"cancel-requests/%s/%s" % (me, GONE % n) for n in range(len(self.BAD)) if n not in objects}
        return keys

    def is_object(self, text):
        try:
            return isinstance(json.loads(text), dict)
        except (ValueError, RecursionError):
            return False

    def test_records_that_are_no_records_stop_nothing_and_are_not_deleted(self):
        quick = PATIENT if swamp_test.PATIENCE > 60 else QUICK
        server = self.instance(quick=quick)
        client, run = self.begin(server.url)
        bad = self.plant(server.instance)
        other = self.instance(quick=quick)  # starts on them, too
        beats = lambda: self.query("SELECT revision FROM records WHERE key = ?", "heartbeats/" + server.instance)[0][0]
        before = beats()
        wait_until(lambda: beats() > before + 8, "many ticks")
        for url, port in ((server.url, server.port), (other.url, other.port)):
            self.check_service(url, port)
        wait_until(lambda: not [k for k in self.alive() if k.startswith("0000beef")], "the death of what does not beat")
        counted = {one: Ready(one.port).body.get("unreadableRecords") for one in (server, other)}
        self.go()
        done = client.wait()
        self.assert_code(done, 0)
        self.events(done)
        left = set(self.keys())
        # what is not known to be ours stays; a heartbeat that does not beat is dead whatever it says (PROTOCOL 5)
        for key in bad:
            if key.split("/")[0] in ("active-runs", "runs", "workflow-runs", "workflow-names"):
                self.assertIn(key, left)
        for one in (server, other):
            one.send(signal.SIGTERM)
            self.assert_code(one.wait(), 0)
            # at most one line for each record, however many ticks there were
            # (a slow machine is told apart: how often it falls behind its schedule is not the records' doing)
            lines = [line for line in one.lines["err"] if "on schedule" not in line]
            self.assertLess(len(lines), len(bad) + 30, lines[:200])
            named = [match.group(1) for match in (re.search(r"record (\S+) cannot be read", line) for line in lines) if match]
            self.assertEqual(len(named), len(set(named)), named)
            self.assertEqual(len(named), counted[one])
            # each kind in each place where records are read, and none of those that are good
            missed = self.must_be_named(server.instance, one is server) - set(named)
            self.assertEqual(missed, set())
            self.assertEqual(set(named) - set(bad), set())

    def check_service(self, url, port):
        self.assert_code(self.swamp("workflow", "run", "hello", "--server", url), 0)
        for words in (["run", "history"], ["run", "history", "--active"], ["run", "history", "--workflow", "hello"],
                      ["cluster", "instances"]):
            self.assert_code(self.swamp(*words, "--json", "--server", url), 0)
        rows = [json.loads(l) for l in self.swamp("run", "history", "--json", "--server", url).out.splitlines()]
        self.assertIn("hello", [row["workflowName"] for row in rows])
        named = self.swamp("workflow", "history", "get", "hello", "--json", "--server", url)
        self.assert_code(named, 0)
        for number in range(len(self.BAD)):
            answer = self.attach(port, GONE % number)
            self.assertIn(answer["type"], ("error", "run.interrupted"), answer)
            if answer["type"] == "error":
                self.assertIn(answer["error"]["code"], ("unavailable", "not_found"), answer)
            answer = self.ask(port, {"type": "workflow.history.get", "id": "h", "payload": {"workflowIdOrName": GONE % number}})
            self.assertIn(answer["type"], ("error", "workflow.history.get"), answer)
            answer = self.ask(port, {"type": "run.cancel", "id": "c", "payload": {"runId": GONE % number}})
            self.assertIn(answer["type"], ("error", "run.cancel"), answer)
        deep = self.swamp("workflow", "history", "get", GONE % (len(self.BAD) - 1), "--server", url)
        self.assert_code(deep, 7)  # nested too deeply to be passed on: not now, and no lost connection (4)
        self.assertEqual(Ready(port).code, 200)


class Doctor(ClusterTest):
    def test_doctor_names_a_stale_heartbeat_a_run_without_an_owner_and_sqlite(self):
        server = self.instance(quick=FAST)
        client, run = self.begin(server.url)
        good = self.swamp("doctor")
        self.assertIn("instance %s" % server.instance, good.out)
        self.assertRegex(good.out, r"ok SQLite %s( has the WAL-reset fault: swamp's own lock keeps clear of it)?" % re.escape(
            sqlite3.sqlite_version))
        if sqlite3.sqlite_version_info < (3, 44):  # FACTS: before any of the mends
            self.assertIn("WAL-reset fault", good.out)
        self.assertRegex(good.out, r"ok file system: \w+, \d+ MiB free")
        self.assertRegex(good.out, r"ok WAL: \d+ KiB")
        self.assertIn("ok 1 instance, 1 run that has not ended", good.out)
        server.send(signal.SIGKILL)
        server.wait()
        self.put({"active-runs/" + GONE % 1: '{"instanceId":"0000dead-0000-4000-8000-000000000000","resourceName":"lost"}',
                  "heartbeats/0000beef-0000-4000-8000-000000000000": "no record",
                  **{place + "0000dead-0000-4000-8000-000000000000/" + GONE % 4: "{}" for place in ("instance-runs/", "cancel-requests/")},
                  "active-runs/" + GONE % 2: "no record", "runs/" + GONE % 3: "no record"})
        found = lambda: self.swamp("doctor")
        wait_until(lambda: "no sign of life" in found().out, "the silence of the dead")
        done = found()
        self.assert_code(done, 1)
        self.assertRegex(done.out, r"!! instance %s on \S+ has shown no sign of life" % server.instance)
        self.assertRegex(done.out, r"!! run %s \(held\) is recorded as running, but its instance is gone" % run)
        self.assertRegex(done.out, r"!! run %s \(lost\) is recorded as running" % (GONE % 1))
        self.assertIn("!! the heartbeat of instance 0000beef-0000-4000-8000-000000000000 cannot be read", done.out)
        for place in ("instance-runs", "cancel-requests"):
            self.assertIn("!! the record %s/0000dead-0000-4000-8000-000000000000/%s has no owner" % (place, GONE % 4), done.out)
            self.assertNotIn("the record %s/%s" % (place, server.instance), done.out)  # that one is silent
        for key in ("active-runs/" + GONE % 2, "runs/" + GONE % 3):
            self.assertIn("!! the record %s cannot be read" % key, done.out)
        # what it advised helps
        again = self.instance(quick=FAST)
        self.wait_final(run)
        wait_until(lambda: server.instance not in self.alive(), "the death")
        for place in ("instance-runs/", "cancel-requests/"):
            wait_until(lambda: not self.keys(place + "0000dead"), "what the dead left in %s to go" % place)
        again.send(signal.SIGTERM)
        self.assert_code(again.wait(), 0)
        client.end()

    def test_doctor_names_who_holds_the_lock_as_the_cause_of_late_beats(self):
        server = self.instance(quick=FAST)
        client, run = self.begin(server.url)
        holder = self.hold_lock()
        found = lambda: self.swamp("doctor")
        wait_until(lambda: "no sign of life" in found().out, "beats to be late")
        done = found()
        self.assert_code(done, 1)
        lines = [line for line in done.out.splitlines() if line.startswith("!!")]
        self.assertEqual(len(lines), 1, lines)  # nobody is gone: neither another instance is needed, nor is the run lost
        self.assertRegex(lines[0], r"!! instance %s on \S+ has shown no sign of life since \S+, and process %d holds the "
                                   r"store's lock: .*end it" % (server.instance, holder.pid))
        holder.stdin.close()
        holder.wait()
        wait_until(lambda: found().code == 0, "what it advised to help")
        self.go()
        self.assert_code(client.wait(), 0)

    def test_doctor_names_a_run_that_nobody_knows_and_a_request_without_a_run(self):
        server = self.instance()
        client, run = self.begin(server.url)
        self.put({"runs/" + GONE % 1: '{"id":"%s","status":"running"}' % (GONE % 1),
                  "cancel-requests/%s/%s" % (server.instance, GONE % 2): "{}"})
        done = self.swamp("doctor")
        self.assert_code(done, 1)
        found = [line for line in done.out.splitlines() if line.startswith("!!")]
        self.assertEqual(len(found), 2, found)  # not the run that goes on
        self.assertRegex(found[0], r"the request cancel-requests/%s/%s cancels nothing: .*restart that instance" % (
            server.instance, GONE % 2))
        self.assertRegex(found[1], r"run %s is recorded as not ended, but no other record knows of it: .*remove the record "
                         r"runs/%s \(docs/STORE\.md" % (GONE % 1, GONE % 1))
        # what it advises helps
        self.go()
        self.assert_code(client.wait(), 0)
        server.send(signal.SIGTERM)
        self.assert_code(server.wait(), 0)
        with contextlib.closing(sqlite3.connect(self.database)) as link, link:
            link.execute("DELETE FROM records WHERE key = ?", ("runs/" + GONE % 1,))
        self.instance()
        wait_until(lambda: not self.keys("cancel-requests/"), "the request to go")
        self.assert_code(self.swamp("doctor"), 0)


if __name__ == "__main__":
    swamp_test.main()
