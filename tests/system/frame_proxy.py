"""A proxy that knows frames, and cuts each connection at a place that is named: between two frames, or inside one."""
import socket
import threading

from swamp_test import PATIENCE, hang_up


class Cut:
    """Where a connection ends: at the first unit that holds `words` (b"HTTP/1.1 101" is the answer to the upgrade).

    `let_through` says how much of that unit still passes: a number of bytes, counted from the end when negative, or
    None for all of it.
    """

    def __init__(self, words, let_through=0):
        self.words, self.let_through = words, let_through

    def __repr__(self):
        return "Cut(%r, %r)" % (self.words, self.let_through)


def take_unit(buffer, is_head):
    """(unit, rest): the head of the HTTP answer, or one frame of the server (never masked); None: not yet whole."""
    if is_head:
        end = buffer.find(b"\r\n\r\n") + 4
        return (buffer[:end], buffer[end:]) if end > 3 else None
    if len(buffer) < 2:
        return None
    extra = {126: 2, 127: 8}.get(buffer[1], 0)
    if len(buffer) < 2 + extra:
        return None
    size = int.from_bytes(buffer[2:2 + extra], "big") if extra else buffer[1]
    end = 2 + extra + size
    return (buffer[:end], buffer[end:]) if len(buffer) >= end else None


class FrameProxy:
    """The first connection ends at cuts[0], the second at cuts[1], …; those after the last are left alone."""

    def __init__(self, port, cuts):
        self.port_behind, self.cuts, self.done, self.accepted = port, cuts, [], 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = "http://127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            cut = self.cuts[self.accepted] if self.accepted < len(self.cuts) else None
            self.accepted += 1
            far = socket.create_connection(("127.0.0.1", self.port_behind), PATIENCE)
            for target in (self._pass_on, self._deliver):
                threading.Thread(target=target, args=(near, far, cut), daemon=True).start()

    def _pass_on(self, near, far, _):
        try:
            while part := near.recv(65536):
                far.sendall(part)
        except OSError:
            pass
        hang_up(near, far)

    def _deliver(self, near, far, cut):
        buffer, is_head = b"", True
        try:
            while part := far.recv(65536):
                buffer += part
                while taken := take_unit(buffer, is_head):
                    unit, buffer = taken
                    is_head = False
                    if cut and cut.words in unit:
                        near.sendall(unit[:cut.let_through])
                        self.done.append(cut)
                        hang_up(near, far)
                        return
                    near.sendall(unit)
        except OSError:
            pass
        hang_up(near, far)

    def close(self):
        hang_up(self.listener)
        self.listener.close()
