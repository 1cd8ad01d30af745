"""Three instances behind a load balancer: cuts, the wrong instance, and an owner that is killed."""
import json
import os
import signal
import socket

import swamp_test
from swamp_test import Process, Socket, SwampTest, find_program, wait_until, workflow

# Counts until it is told to stop, so that cuts always meet a run that goes on.
COUNT = "i=0; until test -e go; do i=$((i + 1)); echo line $i; sleep 0.2; done"
QUICK = ["--heartbeat-interval", "500ms", "--stale-ttl", "2s", "--reconciliation-interval", "1s"]

CONFIG = """
global
    nbthread 1
defaults
    mode http
    balance {balance}
    timeout connect 5s
    timeout client 30s
    timeout server 30s
    timeout tunnel 1h
    option redispatch 1
    option httpchk GET /ready
    default-server check inter 1s fall 3 rise 1
"""


class Balancer(SwampTest):
    def setUp(self):
        super().setUp()
        self.write_workflow("count", workflow("count", COUNT))
        self.addCleanup(self.go)

    def go(self):
        with open(self.path("go"), "w", encoding="ascii"):
            pass

    def haproxy(self, servers, balance="roundrobin"):
        """The port of a balancer over them; its socket is made here, so that no port is guessed."""
        program = find_program("haproxy")
        with socket.create_server(("127.0.0.1", 0)) as door:
            port = door.getsockname()[1]
            with open(self.path("haproxy.cfg"), "w", encoding="ascii") as file:
                file.write(CONFIG.format(balance=balance) + "listen swamp\n    bind fd@%d\n" % door.fileno())
                for server in servers:
                    file.write("    server s%d 127.0.0.1:%d\n" % (server.port, server.port))
            words = [program, "-db", "-f", self.path("haproxy.cfg")]
            process = Process(words, self.env, self.folder, pass_fds=[door.fileno()])
        self.addCleanup(process.end)
        return port

    def count_lines(self, events):
        lines = [e["line"] for e in events if e["kind"] == "method_output"]
        self.assertEqual(lines, ["line %d" % n for n in range(1, len(lines) + 1)])

    def begin(self, url):
        """A run that goes on, and its id."""
        client = self.start("workflow", "run", "count", "--json", "--server", url)
        run = client.wait_line("err", r'"accepted","runId":"([^"]+)"').group(1)
        client.wait_line("out", '"line 2"')
        return client, run

    def news(self, client, name):
        with client.changed:
            return [line for line in client.lines["err"] if '"swamp":"%s"' % name in line]

    def last_seq(self, client):
        with client.changed:
            return json.loads(client.lines["out"][-1])["seq"]

    def wait_for(self, client, condition, what):
        wait_until(lambda: condition() or client.process.poll() is not None, what)
        self.assertIsNone(client.process.poll(), repr(client.lines))

    def cut(self, proxy, client):
        """Cuts, and waits until it is back: by its news, since an event may be one from before the cut."""
        count, attached = len(self.news(client, "reconnecting")), len(self.news(client, "attached"))
        proxy.cut()
        self.wait_for(client, lambda: len(self.news(client, "reconnecting")) > count, "the cut to be noticed")
        self.wait_for(client, lambda: len(self.news(client, "attached")) > attached, "it to be attached again")

    def owner(self, run, servers):
        record = json.loads(self.swamp("workflow", "history", "get", run, "--json").out)
        return next(s for s in servers if s.instance == record["instanceId"])

    def test_cuts_behind_haproxy_lose_and_repeat_nothing(self):
        proxy = self.proxy(0)
        # no other way leads to the owner, so that every cut meets the client
        servers = [self.serve(*QUICK, "--advertise", proxy.url) for _ in range(3)]
        proxy.port_behind = self.haproxy(servers)
        client, run = self.begin(proxy.url)
        cuts = 0
        while cuts < 3 or (not self.news(client, "elsewhere") and cuts < 8):
            self.cut(proxy, client)
            cuts += 1
        proxy.cut()
        self.go()  # it ends while nobody listens
        done = client.wait()
        self.assert_code(done, 0)
        self.count_lines(self.events(done))
        owner = self.owner(run, servers)
        elsewhere = [json.loads(line) for line in self.news(client, "elsewhere")]
        self.assertTrue(elsewhere)
        self.assertEqual({news["instanceId"] for news in elsewhere}, {owner.instance})
        self.assertEqual(self.swamp("run", "attach", run, "--json", "--server", owner.url).out, done.out)

    def test_a_killed_owner_is_told_as_interrupted_by_whoever_is_left(self):
        servers = [self.serve(*QUICK) for _ in range(3)]
        url = "http://127.0.0.1:%d" % self.haproxy(servers)
        client, run = self.begin(url)
        owner = self.owner(run, servers)
        left = [s for s in servers if s is not owner]
        owner.send(signal.SIGKILL)
        owner.wait()
        viewers = [Socket(s.port) for s in left]
        for viewer in viewers:
            self.addCleanup(viewer.close)
            viewer.send({"type": "run.attach", "id": "v", "payload": {"runId": run, "afterSeq": 2}})
        for viewer in viewers:
            answer = viewer.receive()
            while answer["type"] == "run.elsewhere":  # its last beat may be young: asked again, as clients do
                self.assertEqual(answer["payload"]["instanceId"], owner.instance)
                viewer.send({"type": "run.attach", "id": "v", "payload": {"runId": run, "afterSeq": 2}})
                answer = viewer.receive()
            self.assertEqual(answer["type"], "run.interrupted", answer)
            self.assertEqual(answer["payload"]["reason"], "instance_dead")
        done = client.wait()
        self.assert_code(done, 3)
        self.assertEqual(len(self.news(client, "interrupted")), 1)
        end = json.loads(self.news(client, "done")[0])
        self.assertEqual((end["status"], end["reason"], end["success"]), ("failed", "instance_dead", False))
        self.count_lines([json.loads(line) for line in done.out.splitlines()])
        for server in left:
            record = json.loads(self.swamp("workflow", "history", "get", run, "--json", "--server", server.url).out)
            self.assertEqual((record["status"], record["interruptReason"]), ("failed", "instance_dead"))
            self.assertNotIn("running", [job["status"] for job in record["jobs"]])
            rows = self.swamp("cluster", "instances", "--json", "--server", server.url).out.splitlines()
            self.assertEqual({json.loads(row)["instanceId"] for row in rows}, {s.instance for s in left})

    def test_a_balancer_that_always_picks_the_wrong_instance_is_passed_by(self):
        owner, wrong = self.serve(*QUICK), self.serve(*QUICK)
        proxy = self.proxy(owner.port)
        client, _ = self.begin(proxy.url)
        proxy.port_behind = wrong.port
        self.cut(proxy, client)
        elsewhere = [json.loads(line) for line in self.news(client, "elsewhere")]
        self.assertGreaterEqual(len(elsewhere), 2)
        self.assertEqual({news["address"] for news in elsewhere}, {owner.url})
        accepted = proxy.accepted
        proxy.cut()  # it has left this way
        seq = self.last_seq(client)
        self.wait_for(client, lambda: self.last_seq(client) > seq, "a new event")
        self.go()
        done = client.wait()
        self.assert_code(done, 0)
        self.assertEqual(proxy.accepted, accepted)
        self.count_lines(self.events(done))

    def test_leastconn_which_follows_the_number_of_connections_loses_and_repeats_nothing(self):
        proxy = self.proxy(0)
        servers = [self.serve(*QUICK) for _ in range(3)]
        proxy.port_behind = self.haproxy(servers, "leastconn")
        clients = [self.begin(proxy.url)[0] for _ in range(3)]  # on one instance each, until the cut
        proxy.cut()
        for client in clients:
            self.wait_for(client, lambda client=client: self.news(client, "attached"), "it to be attached again")
        self.go()
        for client in clients:
            done = client.wait()
            self.assert_code(done, 0)
            self.count_lines(self.events(done))

    def test_source_which_sends_a_client_to_one_instance_for_ever_is_passed_by(self):
        proxy = self.proxy(0)
        servers = [self.serve(*QUICK) for _ in range(3)]
        proxy.port_behind = self.haproxy(servers, "source")
        first = self.begin(proxy.url)[1]
        picked = self.owner(first, servers)
        second = self.begin(proxy.url)[1]
        self.assertIs(self.owner(second, servers), picked)  # that is what `source` means
        owner = next(s for s in servers if s is not picked)
        run = self.begin(owner.url)[1]
        client = self.start("run", "attach", run, "--json", "--server", proxy.url)
        client.wait_line("out", '"line 2"')  # never by the balancer: it dialled the owner's own address
        elsewhere = [json.loads(line) for line in self.news(client, "elsewhere")]
        self.assertGreaterEqual(len(elsewhere), 2)
        self.assertEqual({(news["instanceId"], news["address"]) for news in elsewhere}, {(owner.instance, owner.url)})
        self.go()
        done = client.wait()
        self.assert_code(done, 0)
        self.count_lines(self.events(done))

    def test_an_address_that_nobody_reaches_is_given_up_for_the_balancer(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            dead = "http://127.0.0.1:%d" % taken.getsockname()[1]
        owner, wrong = self.serve(*QUICK, "--advertise", dead), self.serve(*QUICK)
        proxy = self.proxy(owner.port)
        client, _ = self.begin(proxy.url)
        proxy.port_behind = wrong.port
        proxy.cut()
        self.wait_for(client, lambda: len(self.news(client, "elsewhere")) >= 3, "three times elsewhere")
        accepted = proxy.accepted
        self.wait_for(client, lambda: proxy.accepted > accepted, "it to be back at the balancer")
        proxy.port_behind = owner.port
        proxy.cut()
        seq = self.last_seq(client)
        self.wait_for(client, lambda: self.last_seq(client) > seq, "a new event")
        self.go()
        done = client.wait()
        self.assert_code(done, 0)
        self.count_lines(self.events(done))


swamp_test.main()
