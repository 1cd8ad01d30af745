"""Lines that are bad without breaking: one byte at a time, late, narrow, and a black hole that swallows all."""
import time

import swamp_test
from bad_line import BadLine
from swamp_test import SwampTest, workflow

COUNT = "for i in $(seq 40); do echo line $i; done"
MUCH = "for i in $(seq 60); do printf '%04d %0900d\\n' $i 0; done"  # about 60 KB
UNTIL_GO = "echo begun; while ! test -e go; do sleep 0.05; done; echo gone on"


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
        line = self.bad_line(server.port, chunk=1024, bytes_per_s=12000)
        client = self.start("workflow", "run", "much", "--json", "--server", line.url)
        run = client.wait_line("err", r'"accepted","runId":"([^"]+)"').group(1)
        other = self.swamp("run", "attach", run, "--json", "--server", server.url)
        self.assert_code(other, 0)
        self.assertIsNone(client.process.poll(), "the narrow line is not narrow")
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


swamp_test.main()
