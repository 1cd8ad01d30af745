"""Bad input on real sockets: each gets one clear answer or one close code, and nobody else's connection is harmed."""
import os
import socket
import struct

import swamp_test
from swamp_test import PATIENCE, UNTIL_GO, Socket, SwampTest, workflow

MIB = 1024 * 1024


def request(kind, payload=None, ident="x"):
    return {"type": kind, "id": ident, **({} if payload is None else {"payload": payload})}


def attach(**payload):
    return request("run.attach", payload)


# what is sent, the id of the answer: every one is invalid_request, and the connection stays open
REFUSED = [
    ("", "unknown"),
    ("{", "unknown"),
    ("nonsense", "unknown"),
    ("[]", "unknown"),
    ("null", "unknown"),
    ('"text"', "unknown"),
    ("{}", "unknown"),
    ('{"type":"run.history","id":"x"} more', "unknown"),
    ('{"type":"run.history","id":"x",}', "unknown"),
    ("[" * 100000, "unknown"),
    ({"type": "run.history"}, "unknown"),
    ({"type": "run.history", "id": 1}, "unknown"),
    ({"type": "run.history", "id": None}, "unknown"),
    ({"type": "run.history", "id": ""}, ""),
    ({"id": "x"}, "x"),
    ({"type": 7, "id": "x"}, "x"),
    (request("no.such.request", {}), "x"),
    (request(""), "x"),
    (request("run.attach"), "x"),
    ({"type": "run.attach", "id": "x", "payload": []}, "x"),
    ({"type": "run.attach", "id": "x", "payload": "r"}, "x"),
    (attach(), "x"),
    (attach(runId=""), "x"),
    (attach(runId=5), "x"),
    (attach(runId="r" * 257), "x"),
    (attach(runId="r", afterSeq=-1), "x"),
    (attach(runId="r", afterSeq=1.5), "x"),
    (attach(runId="r", afterSeq="1"), "x"),
    (attach(runId="r", afterSeq=2 ** 53), "x"),
    ('{"type":"run.attach","id":"x","payload":{"runId":"r","afterSeq":1e2}}', "x"),
    (attach(runId="r", epoch=3), "x"),
    (request("workflow.run"), "x"),
    (request("workflow.run", {}), "x"),
    (request("workflow.run", {"workflowIdOrName": {}}), "x"),
    (request("workflow.run", {"workflowIdOrName": "held", "inputs": [1]}), "x"),
    (request("workflow.run", {"workflowIdOrName": "held", "runtimeTags": {"a": 1}}), "x"),
    (request("workflow.history.get", {"workflowIdOrName": 1}), "x"),
    (request("workflow.search", {"query": 1}), "x"),
    (request("run.history", {"limit": "many"}), "x"),
    (request("run.history", {"active": "yes"}), "x"),
    (request("run.cancel", {}), "x"),
]


class BadInput(SwampTest):
    def setUp(self):
        super().setUp()
        self.write_workflow("held", workflow("held", UNTIL_GO))
        self.server = self.serve()
        self.client = self.start("workflow", "run", "held", "--json", "--server", self.server.url)
        self.run_id = self.client.wait_line("err", r'"accepted","runId":"([^"]+)"').group(1)
        self.client.wait_line("out", "begun")
        self.addCleanup(self.go)

    def go(self):
        with open(self.path("go"), "w", encoding="ascii"):
            pass

    def connect(self, **options):
        peer = Socket(self.server.port, **options)
        self.addCleanup(peer.close)
        self.assertEqual(peer.status, 101)
        return peer

    def assert_alive(self, peer):
        """It is still served: the next answer is that to the next request."""
        peer.send(request("server.version", {}, "alive"))
        answer = peer.receive()
        self.assertEqual((answer["type"], answer["id"]), ("server.version", "alive"), answer)

    def assert_refused(self, answer, ident, code="invalid_request"):
        self.assertEqual((answer["type"], answer["id"], answer["error"]["code"]), ("error", ident, code), answer)
        message = answer["error"]["message"]
        self.assertTrue(0 < len(message) <= 200 and "\n" not in message, message)

    def assert_closed(self, peer, code=None):
        """The end of the connection, in good order with that code; None: in any way."""
        peer.socket.settimeout(PATIENCE)
        try:
            while True:
                opcode, payload = peer.frame()
                if opcode == 8:
                    if code is not None:
                        self.assertEqual(struct.unpack("!H", payload[:2])[0], code)
                    return
        except ConnectionError:
            self.assertIsNone(code, "closed without a code")

    def assert_bystander_unharmed(self):
        """The run that went on beside all this: its client saw nothing of it."""
        self.go()
        done = self.client.wait()
        self.assert_code(done, 0)
        self.events(done)
        self.assertNotIn("reconnecting", done.err)
        self.assertIsNone(self.server.process.poll())

    def test_every_wrong_request_is_refused_and_the_connection_goes_on(self):
        peer = self.connect()
        for sent, ident in REFUSED:
            with self.subTest(str(sent)[:60]):
                peer.send(sent)
                self.assert_refused(peer.receive(), ident)
        self.assert_alive(peer)
        self.assert_bystander_unharmed()

    def test_ids_of_1_and_256_characters_are_echoed_and_of_257_refused(self):
        peer = self.connect()
        for ident in ("i", "i" * 256, "\u00e9" * 256, "\\u0041\"/ \u20ac"):
            peer.send(request("server.version", {}, ident))
            self.assertEqual(peer.receive()["id"], ident)
        peer.send(request("server.version", {}, "i" * 257))
        self.assertEqual(peer.receive()["error"]["code"], "invalid_request")
        for run in ("r", "r" * 256):
            peer.send(attach(runId=run))
            self.assert_refused(peer.receive(), "x", "not_found")
        self.assert_alive(peer)
        self.assert_bystander_unharmed()

    def test_a_second_use_of_an_active_id_and_the_101st_request_are_refused(self):
        peer = self.connect()
        for number in range(100):
            peer.send({"type": "run.attach", "id": "a%d" % number, "payload": {"runId": self.run_id, "afterSeq": 8}})
            self.assertEqual(peer.receive()["type"], "run.attached")
        peer.send({"type": "run.attach", "id": "a7", "payload": {"runId": self.run_id}})
        self.assert_refused(peer.receive(), "a7", "duplicate_id")
        peer.send({"type": "run.attach", "id": "more", "payload": {"runId": self.run_id}})
        self.assert_refused(peer.receive(), "more", "too_many_requests")
        self.go()
        done = set()
        while len(done) < 100:  # each of the hundred goes on to its end
            frame = peer.receive()
            if frame["type"] == "done":
                done.add(frame["id"])
        self.assert_alive(peer)
        self.assert_bystander_unharmed()

    def test_a_message_of_1_mib_is_read_and_one_byte_more_is_1009(self):
        frame = '{"type":"server.version","id":"big","payload":{"pad":"%s"}}'
        for size, fits in ((MIB, True), (MIB + 1, False)):
            message = (frame % ("p" * (size - len(frame) + 2))).encode()
            self.assertEqual(len(message), size)
            for parts in (1, 5):  # whole, and fragmented
                with self.subTest(size=size, parts=parts):
                    peer = self.connect()
                    step = size // parts + 1
                    try:
                        for begin in range(0, size, step):
                            peer.send_frame(0 if begin else 1, message[begin:begin + step], begin + step >= size)
                    except OSError:  # it need not be read to its end
                        self.assertFalse(fits)
                    if fits:
                        answer = peer.receive()
                        self.assertEqual(answer["id"], "big")
                        self.assert_alive(peer)
                    else:
                        self.assert_closed(peer, 1009)
        self.assert_bystander_unharmed()

    def test_a_header_that_announces_more_than_all_memory_is_1009(self):
        peer = self.connect()
        peer.socket.sendall(b"\x81\xff" + struct.pack("!Q", 2 ** 40) + b"\0\0\0\0")
        chunk = b" " * 65536
        try:
            for _ in range(64):
                peer.socket.sendall(chunk)
        except OSError:
            pass
        self.assert_closed(peer, 1009)
        self.assert_bystander_unharmed()

    def test_a_binary_message_is_refused_and_bad_utf8_is_1007(self):
        peer = self.connect()
        peer.send_frame(2, b'{"type":"server.version","id":"x"}')
        self.assert_refused(peer.receive(), "unknown")
        self.assert_alive(peer)
        for bad in (b'{"type":"\xff"}', b'{"type":"\xc0\xaf"}', b'{"type":"\xed\xa0\x80"}', b'{"type":"x\xe2\x82'):
            with self.subTest(bad):
                peer = self.connect()
                peer.send_frame(1, bad)
                self.assert_closed(peer, 1007)
        self.assert_bystander_unharmed()

    def test_frames_that_no_rule_allows_end_their_connection_only(self):
        mask = b"\0\0\0\0"
        for words, raw in [
            ("a reserved opcode", b"\x83\x80" + mask),
            ("a reserved bit", b"\xc1\x80" + mask),
            ("a ping of 126 bytes", b"\x89\xfe\x00\x7e" + mask + b"p" * 126),
            ("a ping in fragments", b"\x09\x80" + mask),
            ("a continuation of nothing", b"\x80\x80" + mask),
            ("a close with one byte", b"\x88\x81" + mask + b"c"),
        ]:
            with self.subTest(words):
                peer = self.connect()
                peer.socket.sendall(raw)
                self.assert_closed(peer)
        self.assert_bystander_unharmed()

    def test_noise_and_half_requests_are_survived(self):
        held = []
        for noise in (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"\0" * 100, os.urandom(4096),
                      b"GET / HTTP/1.1\r\nHost: 127", b"GET /" + b"a" * 100000,
                      b"GET / HTTP/1.1\r\n" + b"X-Header: y\r\n" * 5000 + b"\r\n",
                      b"\x81\xfe\xff\xff"):
            end = socket.create_connection(("127.0.0.1", self.server.port), PATIENCE)
            self.addCleanup(end.close)
            held.append(end)
            try:
                end.sendall(noise)
            except OSError:
                pass
        half = self.connect()
        half.socket.sendall(b"\x81\xfe\x04\x00abcd{")  # the rest never comes
        gone = self.connect()
        gone.send(attach(runId=self.run_id))
        gone.close()
        self.assert_alive(self.connect())
        self.assert_bystander_unharmed()


swamp_test.main()
