"""Fan-out flat out, beside the physical limit."""
import signal

from .measure import line_of, median, ratios, spread, watching

LARGE_LOG = ["--log-events", 4000000, "--log-bytes", 2000000000]


def full_log(events):
    """The log holds as many events as the viewers get, and is full of older ones: each event drives one out, none is missed."""
    return ["--log-events", events, "--log-bytes", 2000000000, "--before", events]


# viewers, bytes of an event, events, goal: the library's share of the limit
LIMIT = [(1, 200, 500000, 0.6), (10, 200, 100000, 0.6), (100, 200, 20000, 0.6), (1000, 200, 3000, 0.5),
         (100, 2048, 5000, 0.7), (100, 20480, 500, 0.7)]

def beside_the_limit(bench, _peers, report):
    for viewers, size, events, goal in LIMIT:
        one_fan_out(bench, report, bench.crowd(viewers), size, bench.scale(events, 300), goal)
        if viewers == 1:
            empty_log(bench, report, bench.scale(events, 300))
        if viewers == 100 and size == 200:
            larger_writes(bench, report, bench.crowd(viewers), bench.scale(events, 300))


def from_the_log(bench, _peers, report):
    """The events are there before the viewers are: nothing is emitted meanwhile, on either side."""
    for viewers, events in ((1, 1000000), (10, 200000)):
        one_from_the_log(bench, report, viewers, bench.scale(events, 300))


def library(bench, viewers, size, events):
    found = bench.pair("server", ["--size", size, "--events", events, *full_log(events)],
                       ["--viewers", viewers, "--events", events, "--after", events])
    found["cpu_ns_without_emit"] = found["cpu_ns_a_delivery"] - found["emit_cpu_ns"] / viewers
    return found


def one_fan_out(bench, report, viewers, size, events, goal):
    limit, ours = bench.in_turn(
        lambda: bench.pair("limit", ["--size", size, "--events", events], ["--viewers", viewers, "--events", events]),
        lambda: library(bench, viewers, size, events))
    clock = ratios(ours, limit, "per_second")
    cpu = [{"ratio": a["cpu_ns_a_delivery"] / b["cpu_ns_without_emit"]} for a, b in zip(limit, ours)]
    report.compared(f"{watching(viewers)}, {size} bytes: M deliveries/s", "limit", limit, ours, "per_second", 1e6, 2,
                    ratio=spread(clock, "ratio", 1, 2), goal=f">= {goal} of the limit", met=median(clock, "ratio") >= goal)
    report.figure("- the server's CPU ns a delivery, without that of the emits", spread(ours, "cpu_ns_without_emit", 1, 0),
                  beside=f"limit: {spread(limit, 'cpu_ns_a_delivery', 1, 0)}", ratio=spread(cpu, "ratio", 1, 2))


def larger_writes(bench, report, viewers, events):
    """We write some 230 such frames at a time, the 64 KiB of a batch; 256 are nearer to that than the goals' 64."""
    limit, ours = bench.in_turn(
        lambda: bench.pair("limit", ["--events", events, "--frames", 256], ["--viewers", viewers, "--events", events]),
        lambda: library(bench, viewers, 200, events))
    report.compared("- beside 256 frames a write: M deliveries/s", "limit", limit, ours, "per_second", 1e6, 2,
                    ratio=spread(ratios(ours, limit, "per_second"), "ratio", 1, 2))


def empty_log(bench, report, events):
    (found,) = bench.in_turn(lambda: bench.pair("server", ["--events", events, *LARGE_LOG], ["--viewers", 1, "--events", events]))
    report.figure("- the log empty before, all of its memory new: M deliveries/s", spread(found, "per_second", 1e6, 2))
    report.figure("- - an emit, CPU ns", spread(found, "emit_cpu_ns", 1, 0))


def one_from_the_log(bench, report, viewers, events):
    def once(name, *extra):
        with bench.server(name, "--events", events, *extra) as (process, port, runs):
            process.send_signal(signal.SIGUSR2)
            if name == "server":
                line_of(process)  # what the emits cost: they are done
            return bench.load(port, runs[0], "--server", process.pid, "--viewers", viewers, "--events", events, "--late")

    limit, ours = bench.in_turn(lambda: once("limit"), lambda: once("server", *LARGE_LOG))
    report.compared(f"{watching(viewers)}, 200 bytes, all emitted before: M deliveries/s, attach included", "limit",
                    limit, ours, "per_second", 1e6, 2, ratio=spread(ratios(ours, limit, "per_second"), "ratio", 1, 2))


STEPS = [beside_the_limit, from_the_log]
