"""The program against servers of the existing tool's kind: no frame and no member that is new, and holes of every sort."""
import base64
import hashlib
import json
import re
import socket
import struct
import threading

import swamp_test
from swamp_test import PATIENCE, SwampTest, hang_up

RUN = "0192f3a0-0000-7000-8000-00000000ab01"
FINAL = {"id": RUN, "workflowId": "w", "workflowName": "old", "status": "succeeded", "jobs": [], "startedAt": "2026-01-01T00:00:00.000Z"}


class Connection:
    """The server's end of one WebSocket."""

    def __init__(self, end):
        self.end, self.file = end, end.makefile("rb")
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            line = self.file.readline()
            if not line:
                raise ConnectionError("no request")
            head += line
        key = re.search(rb"(?i)sec-websocket-key: *(\S+)", head).group(1)
        accept = base64.b64encode(hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest())
        end.sendall(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                    b"Sec-WebSocket-Accept: " + accept + b"\r\n\r\n")

    def _take(self, count):
        part = self.file.read(count)
        if len(part) < count:
            raise ConnectionError("closed")
        return part

    def receive(self):
        """The next text message, parsed."""
        while True:
            first, length = self._take(2)
            length &= 0x7F
            if length >= 126:
                length = struct.unpack("!H" if length == 126 else "!Q", self._take(2 if length == 126 else 8))[0]
            mask = self._take(4)
            payload = bytes(b ^ mask[i % 4] for i, b in enumerate(self._take(length)))
            if first & 0x0F == 8:
                raise ConnectionError("closed")
            if first & 0x0F == 1:
                return json.loads(payload)

    def send(self, *frames):
        for frame in frames:
            text = json.dumps(frame).encode()
            size = bytes([len(text)]) if len(text) < 126 else b"\x7e" + struct.pack("!H", len(text))
            self.end.sendall(b"\x81" + size + text)

    def events(self, ident, *events):
        self.send(*({"type": "event", "id": ident, "event": event} for event in events))


class OldServer:
    """Each connection that comes is given to the next function of a script."""

    def __init__(self, *script):
        self.script, self.asked, self.failure = list(script), [], None
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = "http://127.0.0.1:%d" % self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self):
        while True:
            try:
                end, _ = self.listener.accept()
            except OSError:
                return
            end.settimeout(PATIENCE)
            with end:
                try:
                    connection = Connection(end)
                    request = connection.receive()
                    self.asked.append(request)
                    self.script.pop(0)(connection, request)
                except ConnectionError:
                    pass
                except Exception as failure:  # noqa: told by the test
                    self.failure = failure
                hang_up(end)

    def close(self):
        hang_up(self.listener)
        self.thread.join(PATIENCE)
        self.listener.close()


def line(seq):
    return {"kind": "method_output", "jobId": "j", "stepId": "s", "stream": "stdout", "line": "line %d" % seq, "seq": seq}


def last(seq):
    return {"kind": "completed", "run": FINAL, "seq": seq}


def attached(ident):
    return {"type": "run.attached", "id": ident, "payload": {"runId": RUN, "kind": "workflow-run", "startedAt": FINAL["startedAt"]}}


def gap(ident, first, to):
    return {"type": "run.gap", "id": ident, "gap": {"runId": RUN, "fromSeq": first, "toSeq": to, "reason": "evicted"}}


def until_closed(connection):
    while True:
        connection.receive()


def its_end(connection, request):
    """The run is here, and at its last event."""
    connection.send(attached(request["id"]))
    connection.events(request["id"], last(1))
    connection.send({"type": "done", "id": request["id"]})
    until_closed(connection)


class OldServers(SwampTest):
    def old_server(self, *script):
        server = OldServer(*script)
        self.addCleanup(server.close)
        return server

    def follow(self, server, *words):
        done = self.swamp(*words, "--server", server.url)
        self.assertIsNone(server.failure)
        self.assertEqual(server.script, [], repr(done))  # all of it was played
        return done

    def test_a_start_without_run_accepted_is_resumed_by_the_id_in_its_events(self):
        def begin(connection, request):
            started = {"kind": "started", "runId": RUN, "workflowName": "old", "jobs": [], "seq": 1}
            connection.events(request["id"], started, line(2), line(3))  # and it is cut

        def resume(connection, request):
            connection.send(attached(request["id"]))
            connection.events(request["id"], line(4), last(5))
            connection.send({"type": "done", "id": request["id"]})
            until_closed(connection)

        server = self.old_server(begin, resume)
        done = self.follow(server, "workflow", "run", "old", "--json")
        self.assert_code(done, 0)
        self.assertEqual([e["seq"] for e in self.events(done)], [1, 2, 3, 4, 5])
        asked = server.asked[1]
        self.assertEqual((asked["type"], asked["payload"]["runId"], asked["payload"]["afterSeq"]), ("run.attach", RUN, 3))
        self.assertNotIn("epoch", asked["payload"])  # it has never named one

    def test_holes_are_told_before_the_first_event_and_in_mid_stream(self):
        def stream(connection, request):
            ident = request["id"]
            connection.send(attached(ident), gap(ident, 1, 9))
            connection.events(ident, line(10), line(11))
            connection.send(gap(ident, 12, 480))
            connection.events(ident, line(481))
            connection.send(gap(ident, 482, 482))
            connection.events(ident, last(483))
            connection.send({"type": "done", "id": ident})
            until_closed(connection)

        done = self.follow(self.old_server(stream), "run", "attach", RUN)
        self.assert_code(done, 0)  # a reported gap does not change the code
        told = [text for text in done.err.splitlines() if "no longer available" in text]
        self.assertEqual(told, ["events 1 to 9 are no longer available", "events 12 to 480 are no longer available",
                                "event 482 is no longer available"])
        done = self.follow(self.old_server(stream), "run", "attach", RUN, "--json")
        holes = [(n["fromSeq"], n["toSeq"]) for n in map(json.loads, done.err.splitlines()) if n.get("swamp") == "gap"]
        self.assertEqual(holes, [(1, 9), (12, 480), (482, 482)])
        self.assertEqual([json.loads(text)["seq"] for text in done.out.splitlines()], [10, 11, 481, 483])

    def test_a_hole_that_nobody_announced_is_asked_for_once_and_then_told(self):
        def skip(connection, request):
            connection.send(attached(request["id"]))
            connection.events(request["id"], line(1), line(5))
            until_closed(connection)

        def again(connection, request):
            connection.send(attached(request["id"]))
            connection.events(request["id"], line(5), last(6))
            connection.send({"type": "done", "id": request["id"]})
            until_closed(connection)

        server = self.old_server(skip, again)
        done = self.follow(server, "run", "attach", RUN)
        self.assert_code(done, 0)
        self.assertEqual(server.asked[1]["payload"]["afterSeq"], 1)
        self.assertIn("events 2 to 4 are no longer available", done.err.splitlines())

    def test_elsewhere_without_its_new_members_is_asked_again(self):
        def elsewhere(connection, request):
            connection.send({"type": "run.elsewhere", "id": request["id"], "payload": {"runId": RUN, "instanceId": "i"}})
            until_closed(connection)

        done = self.follow(self.old_server(elsewhere, its_end), "run", "attach", RUN)
        self.assert_code(done, 0)
        self.assertIn("[run is on another instance, retrying...]", done.err)

    def test_why_a_server_cannot_serve_now_is_said_and_escaped(self):
        def refuse(connection, request):
            connection.send({"type": "error", "id": request["id"], "error": {
                "code": "unavailable", "message": "the disk is \x1b[2Jfull", "retryAfterMs": 1}})
            until_closed(connection)

        done = self.follow(self.old_server(refuse, its_end), "run", "attach", RUN)
        self.assert_code(done, 0)
        self.assertIn("[reconnecting...] the server says: the disk is \\x1b[2Jfull\n", done.err)

    def test_interrupted_without_its_new_members_ends_with_the_recorded_status(self):
        def interrupted(connection, request):
            connection.send({"type": "run.interrupted", "id": request["id"],
                             "payload": {"runId": RUN, "instanceId": "i", "reason": "instance_dead"}})
            for status in ("running", "failed"):
                asked = connection.receive()
                self.assertEqual(asked["type"], "workflow.history.get")
                connection.send({"type": "workflow.history.get", "id": asked["id"], "payload": {"data": {**FINAL, "status": status}}})
            until_closed(connection)

        done = self.follow(self.old_server(interrupted), "run", "attach", RUN)
        self.assert_code(done, 3)
        self.assertIn("Run was interrupted (instance died). Checking final status...", done.err)
        self.assertIn("final status: failed", done.err.splitlines()[-1])

    def test_a_run_that_is_refused_after_it_began_is_named(self):
        def begin(connection, request):
            connection.events(request["id"], {"kind": "started", "runId": RUN, "workflowName": "old", "jobs": [], "seq": 1})

        def refuse(connection, request):
            connection.send({"type": "error", "id": request["id"], "error": {"code": "unauthorized", "message": "not yours"}})
            until_closed(connection)

        done = self.follow(self.old_server(begin, refuse), "workflow", "run", "old")
        self.assert_code(done, 6)
        self.assertRegex(done.err.splitlines()[-1], r"^swamp workflow run: run %s: not yours; " % RUN)


if __name__ == "__main__":
    swamp_test.main()
