"""Lines that are bad without breaking: one byte at a time, late, narrow, and a black hole that swallows all."""
import json
import os
import time

import swamp_test
from bad_line import BadLine
from swamp_test import UNTIL_GO, Socket, SwampTest, workflow

COUNT = "for i in $(seq 40); do echo line $i; done"
EVENTS = 500000
FLOOD = "while ! test -e go; do sleep 0.05; done; yes %s | head -n %d" % ("0" * 100, EVENTS)  # 80 MB for each viewer
STALLED = 30
MUCH = "for i in $(seq 60); do printf '%04d %0900d\\n' $i 0; done"  # about 60 KB


class Line(SwampTest):
    def bad_line(self, port, **how):
        line = BadLine(port, **how)
        self.addCleanup(line.close)
        return line

    def run_and_compare(self, name, command, **how):
        """A run over the bad line gives the bytes that a viewer without it gets; its client, and how long it took."""
        self.write_workflow(name, workflow(name, command))
        server = self.serve()
        line = self.bad_line(server.port, **how)
        begun = time.monotonic()
        client = self.start("workflow", "run", name, "--json", "--server", line.url)
        run = client.wait_line("err", r'"accepted","runId":"([^"]+)"').group(1)
        done = client.wait()
        took_s = time.monotonic() - begun
        self.assert_code(done, 0)
        self.events(done)
        self.assertEqual(line.accepted, 1)
        self.assertNotIn("reconnecting", done.err)
        self.assertEqual(self.swamp("run", "attach", run, "--json", "--server", server.url).out, done.out)
        return done, took_s

    def test_bytes_that_come_one_by_one_make_the_same_events(self):
        self.run_and_compare("count", COUNT, chunk=1)

    def test_a_line_of_half_a_second_delays_and_changes_nothing(self):
        _, took_s = self.run_and_compare("count", COUNT, delay_s=0.5)
        self.assertGreater(took_s, 1)  # the upgrade and the start are a way there and back each

    def test_a_narrow_line_gets_everything_and_holds_nobody_up(self):
        self.write_workflow("much", workflow("much", MUCH))
        server = self.serve()
        line = self.bad_line(server.port, chunk=1024, bytes_per_s=1000)
        client = self.start("workflow", "run", "much", "--json", "--server", line.url)
        run = client.wait_line("err", r'"accepted","runId":"([^"]+)"').group(1)
        other = self.swamp("run", "attach", run, "--json", "--server", server.url)
        self.assert_code(other, 0)
        self.assertIsNone(client.process.poll(), "the narrow line is not narrow")
        line.bytes_per_s = 12000  # still narrow, but not for a minute
        done = client.wait()
        self.assert_code(done, 0)
        self.assertEqual(done.out, other.out)
        self.assertEqual(line.accepted, 1)

    def test_a_black_hole_is_noticed_within_30_s_and_the_run_goes_on(self):
        self.write_workflow("held", workflow("held", UNTIL_GO))
        server = self.serve()
        line = self.bad_line(server.port)
        client = self.start("workflow", "run", "held", "--json", "--server", line.url)
        client.wait_line("out", "begun")
        line.swallow()
        swallowed = time.monotonic()
        client.wait_line("err", '"swamp":"reconnecting"')  # PROTOCOL 1: given up after 30 s without a sign of life
        noticed_s = time.monotonic() - swallowed
        self.assertGreater(noticed_s, 20)
        self.assertLess(noticed_s, 40)
        client.wait_line("err", '"swamp":"attached"')
        with open(self.path("go"), "w", encoding="ascii"):
            pass
        done = client.wait()
        self.assert_code(done, 0)
        self.assertIn("gone on", done.out)
        self.events(done)
        self.assertEqual(line.accepted, 2)

    def test_a_place_that_refuses_for_3_s_is_come_back_to_by_one_connection_at_a_time(self):
        self.write_workflow("held", workflow("held", UNTIL_GO))
        server = self.serve()
        proxy = self.proxy(server.port)
        client = self.start("workflow", "run", "held", "--json", "--server", proxy.url)
        client.wait_line("out", "begun")
        proxy.refusing = True
        proxy.cut()
        time.sleep(3)  # the fault itself
        dials = proxy.accepted - 1
        self.assertIn(dials, (1, 2, 3))  # it tried, and not without pause
        proxy.refusing = False
        client.wait_line("err", '"swamp":"attached"')
        self.assertEqual(len(proxy.pairs), 1)
        with open(self.path("go"), "w", encoding="ascii"):
            pass
        done = client.wait()
        self.assert_code(done, 0)
        self.events(done)

    def resident_mb(self, process):
        with open("/proc/%d/status" % process.pid, encoding="ascii") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmRSS:")) / 1024

    def grown_by_flood(self, stalled):
        """MB that a server grows by while one viewer reads the whole of a run, and so many others nothing of it."""
        if os.path.exists(self.path("go")):
            os.remove(self.path("go"))
        server = self.serve()
        client = self.start("workflow", "run", "flood", "--json", "--server", server.url)
        run = client.wait_line("err", r'"accepted","runId":"([^"]+)"').group(1)
        for number in range(stalled):
            viewer = Socket(server.port)
            self.addCleanup(viewer.close)
            viewer.send({"type": "run.attach", "id": "v%d" % number, "payload": {"runId": run}})
            self.assertEqual(viewer.receive()["type"], "run.attached")  # and it reads no more
        before_mb = self.resident_mb(server.process)
        with open(self.path("go"), "w", encoding="ascii"):
            pass
        other = self.swamp("run", "attach", run, "--json", "--server", server.url)
        grown_mb = self.resident_mb(server.process) - before_mb
        self.assert_code(other, 0)
        self.assertGreaterEqual(json.loads(other.out.splitlines()[-1])["seq"], EVENTS)
        self.assert_code(client.wait(), 0)
        server.end()
        return grown_mb

    def test_viewers_that_stop_reading_cost_little_and_hold_nobody_up(self):
        self.write_workflow("flood", workflow("flood", FLOOD))
        self.env["ASAN_OPTIONS"] = "quarantine_size_mb=1"  # what was freed is not to be counted
        without_mb = self.grown_by_flood(0)
        with_mb = self.grown_by_flood(STALLED)
        self.assertLess(with_mb - without_mb, STALLED)  # 1 MiB for each: a batch of 64 KiB, not the stream of 80 MB


swamp_test.main()
