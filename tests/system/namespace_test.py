"""An instance that its clients cannot reach and that still has the store: it lives, its run goes on, nobody is told it died.

Two network namespaces of this test's own, a pair of veth between them: in one the clients, a balancer and an instance, in
the other the owner of the run. The store is a file that both see. The pair is taken down and up again.
"""
import json
import os
import subprocess

import swamp_test
from cluster import QUICK, ClusterTest
from swamp_test import SWAMP, Process, Server, find_program, wait_until

NEAR, FAR = "10.77.0.1", "10.77.0.2"  # nobody else's: the namespaces have no other way out
DOOR, OWNER, OTHER = 8080, 9001, 9002  # ports of namespaces that are ours alone

CONFIG = """
global
    nbthread 1
defaults
    mode http
    timeout connect 500ms
    timeout client 60s
    timeout server 60s
    timeout tunnel 1h
    retries 2
    option redispatch 1
    option httpchk GET /ready
    default-server check inter 300ms fall 2 rise 1 on-marked-down shutdown-sessions
listen door
    bind 127.0.0.1:%d
    server owner %s:%d
    server other 127.0.0.1:%d backup
"""


def ip(*words, check=True):
    return subprocess.run([find_program("ip"), *words], capture_output=True, text=True, check=check)


class Namespaces(ClusterTest):
    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest("network namespaces need root")
        mark = os.path.basename(self.folder)[-8:]
        self.near, self.far = "swamp-near-" + mark, "swamp-far-" + mark
        for name in (self.near, self.far):
            made = ip("netns", "add", name, check=False)
            if made.returncode:
                self.skipTest("no network namespace can be made here: " + made.stderr.strip())
            self.addCleanup(ip, "netns", "del", name)
            ip("-n", name, "link", "set", "lo", "up")
        made = ip("-n", self.near, "link", "add", "wire", "type", "veth", "peer", "name", "wire", "netns", self.far,
                  check=False)
        if made.returncode:
            self.skipTest("no veth can be made here: " + made.stderr.strip())
        for name, address in ((self.near, NEAR), (self.far, FAR)):
            ip("-n", name, "addr", "add", address + "/24", "dev", "wire")
            ip("-n", name, "link", "set", "wire", "up")

    def wire(self, state):
        ip("-n", self.far, "link", "set", "wire", state)

    def inside(self, name, *words):
        return [find_program("ip"), "netns", "exec", name, *words]

    def serve_in(self, name, host, port):
        words = ["serve", "--host", host, "--port", str(port), "--drain-grace", "0", *QUICK]
        if host != "127.0.0.1":
            words += ["--insecure"]
        server = Server(self.inside(name, SWAMP, *words), self.env, self.folder)
        self.addCleanup(server.end)
        return server

    def client(self, *words):
        client = Process(self.inside(self.near, SWAMP, *words, "--server", "http://127.0.0.1:%d" % DOOR), self.env,
                         self.folder)
        self.addCleanup(client.end)
        return client

    def begin_on_owner(self):
        """A run of the far instance, and its client, which came by way of the balancer."""
        owner, other = self.serve_in(self.far, FAR, OWNER), self.serve_in(self.near, "127.0.0.1", OTHER)
        # `backup`: all goes to the owner as long as it can be reached
        with open(self.path("haproxy.cfg"), "w", encoding="ascii") as file:
            file.write(CONFIG % (DOOR, FAR, OWNER, OTHER))
        balancer = Process(self.inside(self.near, find_program("haproxy"), "-db", "-f", self.path("haproxy.cfg")), self.env, self.folder)
        self.addCleanup(balancer.end)
        client = self.client("workflow", "run", "held", "--json")
        run = client.wait_line("err", r'"accepted","runId":"([^"]+)"').group(1)
        client.wait_line("out", "begun")
        self.assertEqual(self.record(run)["instanceId"], owner.instance)
        return owner, other, client, run

    def test_a_run_whose_owner_cannot_be_reached_is_elsewhere_and_goes_on_when_it_can(self):
        owner, other, client, run = self.begin_on_owner()
        self.wire("down")
        news = json.loads(client.wait_line("err", r'^\{"swamp":"elsewhere".*$').group(0))
        self.assertEqual(news["instanceId"], owner.instance)
        self.assertEqual(self.alive(), {owner.instance, other.instance})
        self.assertEqual(self.record(run)["status"], "running")
        self.wire("up")
        client.wait_line("err", '"swamp":"attached"')
        self.go()
        done = client.wait()
        self.assert_code(done, 0)
        self.assertIn("gone on", done.out)
        self.events(done)  # each once, in order, none missing
        self.assertNotIn("interrupted", done.err)
        self.assertEqual(self.alive(), {owner.instance, other.instance})

    def test_a_run_whose_owner_cannot_be_reached_is_cancelled_by_way_of_the_store(self):
        owner, _, client, run = self.begin_on_owner()
        self.wire("down")
        client.wait_line("err", '"swamp":"elsewhere"')
        cancel = self.client("run", "cancel", run)
        self.assertEqual(cancel.wait().code, 0)
        self.assertEqual(self.wait_final(run)["status"], "cancelled")
        wait_until(lambda: not self.keys("active-runs/"), "its record to go")
        self.assertIn(owner.instance, self.alive())
        self.wire("up")
        done = client.wait()
        self.assert_code(done, 1)
        self.assertIn("was cancelled by somebody else", done.err)


swamp_test.main()
