"""A store that cannot be had is one line and an exit code; one that fails later loses nothing."""
import fcntl
import json
import os
import sqlite3
import subprocess
import unittest
import urllib.error
import urllib.request

import swamp_test
from swamp_test import UNTIL_GO, SwampTest, find_program, wait_until, workflow


def can_mount():
    """Root, and in a place where root may mount."""
    if os.geteuid() != 0:
        return False
    words = [find_program("unshare"), "-m", "mount", "-t", "tmpfs", "none", "/mnt"]
    return subprocess.run(words, capture_output=True).returncode == 0


CAN_MOUNT = can_mount()
NOBODY = 65534


class StorePath(SwampTest):
    def mount(self, name, options):
        os.mkdir(self.path(name))
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", self.path(name)], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", self.path(name)], check=True)

    def ready(self, server):
        try:
            with urllib.request.urlopen(server.url + "/ready", timeout=60) as answer:
                return answer.status, json.load(answer)["status"]
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)["status"]

    def assert_one_line(self, path, code, *fragments):
        done = self.swamp("serve", "--port", "0", "--store", "sqlite:" + path)
        self.assert_code(done, code)
        self.assertEqual((done.out, len(done.err.splitlines())), ("", 1), repr(done))
        for fragment in ('--store is "sqlite:%s"' % path, *fragments):
            self.assertIn(fragment, done.err)

    def test_a_file_that_is_no_database_is_named_and_left_alone(self):
        for name, content in (("text.db", b"dear diary\n" * 500), ("short.db", b"dear diary\n"), ("byte.db", b"x"),
                              ("zeros.db", b"\0" * 4096)):
            with self.subTest(name):
                with open(self.path(name), "wb") as file:
                    file.write(content)
                self.assert_one_line(name, 2)
                with open(self.path(name), "rb") as file:
                    self.assertEqual(file.read(), content)

    def test_somebody_elses_database_is_named_and_left_alone(self):
        other = sqlite3.connect(self.path("other.db"))
        with other:
            other.execute("create table records(a, b)")
            other.execute("insert into records values (1, 2)")
        self.assert_one_line("other.db", 2)
        self.assertEqual(other.execute("select * from records").fetchall(), [(1, 2)])
        self.assertEqual(other.execute("select count(*) from sqlite_master").fetchone(), (1,))
        other.close()

    def test_a_lock_held_by_another_process_is_named(self):
        with sqlite3.connect(self.path("a.db"), isolation_level=None) as other:
            other.execute("BEGIN EXCLUSIVE")
            self.assert_one_line("a.db", 7, "another program")
        other.close()
        with open(self.path("b.db.lock"), "w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.assert_one_line("b.db", 7, "locked by another process")

    def test_a_store_that_cannot_be_written_yet_is_waited_for(self):
        self.assert_code(self.swamp("workflow", "run", "hello", "--store", "sqlite:a.db"), 0)
        other = sqlite3.connect(self.path("a.db"), isolation_level=None)
        self.addCleanup(other.close)
        other.execute("BEGIN EXCLUSIVE")
        server = self.serve("--store", "sqlite:a.db")
        self.assertEqual(self.ready(server), (503, "starting"))
        client = self.start("workflow", "run", "hello", "--server", server.url)
        client.wait_line("err", r"^\[reconnecting\.\.\.\] the server says: this instance is starting")
        other.execute("ROLLBACK")
        wait_until(lambda: self.ready(server) == (200, "ready"), "the instance to be ready")
        self.assert_code(client.wait(), 0)  # a start that was refused for now is sent again: it ran once
        rows = self.swamp("run", "history", "--json", "--server", server.url).out.splitlines()
        self.assertEqual(len(rows), 2, rows)
        server.wait_line("err", r"warn .*a\.db: ")  # and its log had said why

    @unittest.skipUnless(CAN_MOUNT, "needs root, to mount")
    def test_a_read_only_place_is_named(self):
        self.mount("ro", "ro,size=1m")
        self.assert_one_line("ro/x.db", 2, "read-only")

    def test_rights_that_were_taken_away_are_named(self):
        self.assert_code(self.swamp("workflow", "run", "hello", "--store", "sqlite:a.db"), 0)
        for path, mode in (("a.db", 0o400), ("a.db", 0o000), ("a.db.lock", 0o000)):
            with self.subTest(path=path, mode=mode):
                before = os.stat(self.path(path)).st_mode
                os.chmod(self.path(path), mode)
                words = ["serve", "--port", "0", "--store", "sqlite:a.db"]
                done = self.as_nobody(*words) if os.geteuid() == 0 else self.swamp(*words)
                os.chmod(self.path(path), before)
                self.assert_code(done, 2)
                self.assertEqual((done.out, len(done.err.splitlines())), ("", 1), repr(done))
                self.assertIn('--store is "sqlite:a.db"', done.err)
                self.assertIn("run as the user that owns it", done.err)

    def as_nobody(self, *words):
        """Root may write anywhere: as a user that may not."""
        for folder, _, names in os.walk(self.folder):
            for path in [folder] + [os.path.join(folder, name) for name in names]:
                os.chown(path, NOBODY, NOBODY)
        env = {**self.env, "GCOV_PREFIX": self.folder}  # scripts/full/coverage: its counts, too, go where this user may write
        try:
            done = subprocess.run([swamp_test.SWAMP, *words], user=NOBODY, group=NOBODY, env=env, cwd=self.folder,
                                  capture_output=True, text=True, timeout=60)
        except PermissionError:
            self.skipTest("the program lies where only root may go")
        return swamp_test.Result(done.returncode, done.stdout, done.stderr)

    @unittest.skipUnless(CAN_MOUNT, "needs root, to mount")
    def test_a_full_disk_at_the_start_is_named(self):
        self.mount("full", "size=16k")
        self.assert_one_line("full/x.db", 2, "full")

    @unittest.skipUnless(CAN_MOUNT, "needs root, to mount")
    def test_a_disk_that_fills_up_during_a_run_loses_nothing(self):
        self.mount("disk", "size=2m")
        self.write_workflow("held", workflow("held", UNTIL_GO))
        server = self.serve("--store", "sqlite:disk/x.db", "--heartbeat-interval", "200ms", "--stale-ttl", "1s")
        client = self.start("workflow", "run", "held", "--json", "--server", server.url)
        run = client.wait_line("err", r'"accepted","runId":"([^"]+)"').group(1)
        client.wait_line("out", "begun")
        try:
            with open(self.path("disk/filler"), "wb", buffering=0) as file:
                while True:
                    file.write(b"\0" * 4096)
        except OSError:
            pass

        wait_until(lambda: self.ready(server) == (200, "degraded"), "the instance to say that its store is full")
        with open(self.path("go"), "w", encoding="ascii"):
            pass
        client.wait_line("out", "gone on")  # it streams all the same; only its end waits for the store
        os.remove(self.path("disk/filler"))
        done = client.wait()
        self.assert_code(done, 0)
        self.events(done)
        wait_until(lambda: self.ready(server) == (200, "ready"), "the instance to be ready again")
        record = json.loads(self.swamp("workflow", "history", "get", run, "--json", "--server", server.url).out)
        self.assertEqual(record["status"], "succeeded")


swamp_test.main()
