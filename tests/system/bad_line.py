"""A line that does not break but is bad: bytes one by one, late, slow, or swallowed without a word."""
import socket
import threading
import time

from swamp_test import PATIENCE, hang_up


class BadLine:
    """Relays to a port. `chunk`: bytes at once; `delay_s`: each chunk is late by that; `bytes_per_s`: for each way."""

    def __init__(self, port, chunk=65536, delay_s=0, bytes_per_s=None):
        self.port_behind, self.chunk, self.delay_s, self.bytes_per_s = port, chunk, delay_s, bytes_per_s
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = "http://127.0.0.1:%d" % self.listener.getsockname()[1]
        self.sockets, self.threads, self.accepted = [], [], 0
        self.holes = []  # of each connection: set when it is a black hole
        self._spawn(self._accept)

    def _spawn(self, target, *args):
        thread = threading.Thread(target=target, args=args, daemon=True)
        self.threads.append(thread)
        thread.start()

    def _accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
                far = socket.create_connection(("127.0.0.1", self.port_behind), PATIENCE)
            except OSError:
                return
            hole = threading.Event()
            self.holes.append(hole)
            self.accepted += 1
            for end in (near, far):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.sockets += [near, far]
            self._spawn(self._pump, near, far, hole)
            self._spawn(self._pump, far, near, hole)

    def _pump(self, source, sink, hole):
        try:
            while part := source.recv(65536):
                if hole.is_set():
                    continue  # read and forgotten: neither end can tell
                for at in range(0, len(part), self.chunk):
                    piece = part[at:at + self.chunk]
                    if self.delay_s or self.bytes_per_s:
                        time.sleep(self.delay_s + (len(piece) / self.bytes_per_s if self.bytes_per_s else 0))
                    sink.sendall(piece)
        except OSError:
            pass
        if not hole.is_set():
            hang_up(source, sink)

    def swallow(self):
        """All connections of now become black holes: open, and silent for ever. New ones work."""
        for hole in self.holes:
            hole.set()

    def close(self):
        hang_up(self.listener, *self.sockets)
        for thread in self.threads:
            thread.join(PATIENCE)
        for end in [self.listener, *self.sockets]:
            end.close()
