"""TCP in the middle, to be cut: SIGUSR1 cuts every connection at once, SIGUSR2 each one in its next message.

usage: cutter.py PORT...   relays a free port to each PORT, all on loopback, and prints those ports in one line
"""
import asyncio
import signal
import sys

pairs = set()


class Pair:
    """A client's connection and the one behind it."""

    def __init__(self, near, far):
        self.writers = (near, far)
        self.halve_next = False

    def cut(self):
        for writer in self.writers:
            writer.transport.abort()

    async def pump(self, reader, writer, to_client):
        try:
            while data := await reader.read(65536):
                if to_client and self.halve_next:
                    writer.write(data[: len(data) // 2])
                    await asyncio.sleep(0.05)  # so that the half message is really on its way
                    break
                writer.write(data)
                await writer.drain()
        except OSError:
            pass


async def relay(reader, writer, port):
    try:
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        writer.close()
        return
    pair = Pair(writer, far_writer)
    pairs.add(pair)
    tasks = [asyncio.create_task(pair.pump(reader, far_writer, False)),
             asyncio.create_task(pair.pump(far_reader, writer, True))]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    pair.cut()
    await asyncio.wait(tasks)
    pairs.discard(pair)


def cut_now():
    for pair in list(pairs):
        pair.cut()


def cut_in_next_message():
    for pair in pairs:
        pair.halve_next = True


async def main(ports):
    loop, over = asyncio.get_running_loop(), asyncio.Event()
    loop.add_signal_handler(signal.SIGUSR1, cut_now)
    loop.add_signal_handler(signal.SIGUSR2, cut_in_next_message)
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, over.set)
    servers = [await asyncio.start_server(lambda r, w, port=port: relay(r, w, port), "127.0.0.1", 0) for port in ports]
    print(*(server.sockets[0].getsockname()[1] for server in servers), flush=True)
    await over.wait()
    for server in servers:
        server.close()
    cut_now()


asyncio.run(main([int(word) for word in sys.argv[1:]]))
