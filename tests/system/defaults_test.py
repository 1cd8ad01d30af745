"""With the default timings nobody gives up before the truth is known (PROTOCOL 6.5). Most of this test waits."""
import json
import signal
import time

import swamp_test
from cluster import ClusterTest
from swamp_test import wait_until


class Defaults(ClusterTest):
    def test_a_client_whose_owner_was_killed_learns_interrupted_and_the_final_status(self):
        owner, other = self.instance(quick=[]), self.instance(quick=[])
        proxy = self.proxy(owner.port)
        client, run = self.begin(proxy.url)
        people = self.start("run", "attach", run, "--server", proxy.url)
        people.wait_line("out", "begun")
        proxy.port_behind = other.port
        owner.send(signal.SIGKILL)
        killed = time.monotonic()
        proxy.cut()
        # the TTL is 30 s from the last beat; with an immediate `elsewhere` a client would give up after 16 s
        done, seen = client.wait(180), people.wait(180)
        self.assertGreater(time.monotonic() - killed, 15)
        for result in (done, seen):
            self.assert_code(result, 3)
            self.assertNotIn("gave", result.err)
        news = [json.loads(line) for line in done.err.splitlines()]
        self.assertIn("instance_dead", [line.get("reason") for line in news if line.get("swamp") == "interrupted"])
        self.assertIn("Run was interrupted (instance died). Checking final status...", seen.err)
        for result in (done, seen):
            self.assertIn("final status: failed", result.err.splitlines()[-1])
        record = self.record(run)
        self.assertEqual((record["status"], record["interruptReason"]), ("failed", "instance_dead"))
        wait_until(lambda: self.alive() == {other.instance}, "one instance")
        self.assertEqual(self.keys("active-runs/") + self.keys("instance-runs/"), [])


if __name__ == "__main__":
    swamp_test.main()
