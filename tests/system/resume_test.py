"""A client that is cut off gets every event once and in order, wherever the cut is."""
import json

import swamp_test
from frame_proxy import Cut, FrameProxy
from swamp_test import UNTIL_GO, Socket, SwampTest, workflow

LINES = "for i in 1 2 3 4 5 6 7 8; do echo line $i; sleep 0.1; done"
ANSWER = b"HTTP/1.1 101"
LINE_2 = Cut(b'"line":"line 2"', None)  # of the first connection, where the point is in what follows

# what it is about, the cuts of the first, the second, ... connection
POINTS = [
    ("just after the run was accepted", [Cut(b'"run.accepted"', None)]),
    ("between two events", [LINE_2]),
    ("in the head of a frame", [Cut(b'"line":"line 3"', 1)]),
    ("in the middle of an event", [Cut(b'"line":"line 4"', 40)]),
    ("before the last byte of an event", [Cut(b'"line":"line 5"', -1)]),
    ("before the first byte of the answer to the next upgrade", [LINE_2, Cut(ANSWER)]),
    ("in the middle of the answer to the next upgrade", [LINE_2, Cut(ANSWER, 30)]),
    ("between that answer and run.attached", [LINE_2, Cut(ANSWER, None)]),
    ("in the middle of run.attached", [LINE_2, Cut(b'"run.attached"', 50)]),
    ("between run.attached and the events that follow", [LINE_2, Cut(b'"run.attached"', None)]),
    ("just before the last event", [Cut(b'"kind":"completed"')]),
    ("just before done", [Cut(b'"type":"done"')]),
    ("before the last byte of done", [Cut(b'"type":"done"', -1)]),
    ("three times in one run", [LINE_2, Cut(b'"line":"line 4"', 3), Cut(b'"line":"line 6"')]),
]

# The start was not sent when these cut: it is sent over the next connection.
POINTS_UNSENT = [Cut(ANSWER), Cut(ANSWER, 20)]
# It may have been: the run may exist, and the client must not start a second one.
POINTS_SENT = [Cut(ANSWER, None), Cut(b'"run.accepted"'), Cut(b'"run.accepted"', 1), Cut(b'"run.accepted"', -1)]


class Resume(SwampTest):
    def setUp(self):
        super().setUp()
        self.write_workflow("lines", workflow("lines", LINES))
        self.write_workflow("held", workflow("held", UNTIL_GO))

    def go(self):
        with open(self.path("go"), "w", encoding="ascii"):
            pass

    def begin(self, port, cuts):
        proxy = FrameProxy(port, cuts)
        self.addCleanup(proxy.close)
        return proxy, self.start("workflow", "run", "lines", "--json", "--server", proxy.url)

    def test_a_cut_at_any_point_loses_and_repeats_nothing(self):
        server = self.serve()
        begun = [(words, *self.begin(server.port, cuts)) for words, cuts in POINTS]
        for words, proxy, client in begun:
            with self.subTest(words):
                done = client.wait()
                self.assert_code(done, 0)
                self.assertEqual(proxy.done, proxy.cuts)
                self.assertGreaterEqual(done.err.count('"swamp":"reconnecting"'), len(proxy.cuts))
                self.assertNotIn('"swamp":"gap"', done.err)
                events = self.events(done)  # 1..N
                self.assertEqual([e["line"] for e in events if e["kind"] == "method_output"],
                                 ["line %d" % n for n in range(1, 9)])
                run = events[-1]["run"]["id"]
                again = self.swamp("run", "attach", run, "--json", "--server", server.url)
                self.assertEqual(again.out, done.out)

    def runs(self):
        return len(self.swamp("run", "history", "--json", "--all").out.splitlines())

    def test_a_cut_before_the_start_was_sent_starts_one_run(self):
        server = self.serve()
        begun = [(cut, *self.begin(server.port, [cut])) for cut in POINTS_UNSENT]
        for cut, proxy, client in begun:
            with self.subTest(cut):
                done = client.wait()
                self.assert_code(done, 0)
                self.events(done)
                self.assertEqual((proxy.accepted, proxy.done), (2, [cut]))
        self.assertEqual(self.runs(), len(POINTS_UNSENT))

    def test_a_cut_before_the_run_was_accepted_starts_no_second_run(self):
        server = self.serve()
        begun = [(cut, *self.begin(server.port, [cut])) for cut in POINTS_SENT]
        for cut, proxy, client in begun:
            with self.subTest(cut):
                done = client.wait()
                self.assert_code(done, 4)
                self.assertEqual((done.out, proxy.accepted, proxy.done), ("", 1, [cut]))
                self.assertIn("may or may not have been started", done.err)
        self.assertLessEqual(self.runs(), len(POINTS_SENT))

    def test_viewers_of_one_run_get_identical_bytes(self):
        server = self.serve()
        client = self.start("workflow", "run", "held", "--json", "--server", server.url)
        run = client.wait_line("err", r'"accepted","runId":"([^"]+)"').group(1)
        client.wait_line("out", "begun")

        def attach():
            viewer = Socket(server.port)
            self.addCleanup(viewer.close)
            viewer.send({"type": "run.attach", "id": "v", "payload": {"runId": run}})
            return viewer

        def frames(viewer):
            found = []
            while not found or b'"type":"done"' not in found[-1]:
                opcode, payload = viewer.frame()
                self.assertEqual(opcode, 1, payload)
                found.append(payload)
            return found

        viewers = [attach(), attach()]
        first = viewers[0].frame()[1]
        self.assertTrue(first.startswith(b'{"type":"run.attached","id":"v"'), first)
        viewers[1].frame()
        self.go()
        self.assert_code(client.wait(), 0)
        streams = [frames(viewers[0]), frames(viewers[1]), frames(attach())[1:]]  # the last one comes when all is over
        self.assertEqual(streams[0], streams[1])
        self.assertEqual(streams[0], streams[2])
        # and the program prints the event as it is in those bytes
        shown = [b'{"type":"event","id":"v","event":%s}' % line.encode() for line in client.lines["out"]]
        self.assertEqual(streams[0][:-1], shown)
        seqs = [json.loads(frame)["event"]["seq"] for frame in streams[0][:-1]]
        self.assertEqual(seqs, list(range(1, len(seqs) + 1)))


swamp_test.main()
