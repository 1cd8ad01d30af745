"""Attaching, one at a time and in thousands, and what attached viewers cost while nothing happens."""
from .measure import median, ratios, spread, watching


def one_at_a_time(bench, _peers, report):
    serial = ["--viewers", 0, "--serial", bench.scale(1000, 20)]
    echo, limit, ours = bench.in_turn(lambda: bench.pair("echo", [], [*serial, "--dialect", "echo"]),
                                      lambda: bench.pair("limit", ["--events", 1], serial),
                                      lambda: bench.pair("server", [], serial))
    ratio = ratios(ours, echo, "attach_p50_us")
    report.compared("connect to run.attached, one at a time: p50 us", "libwebsockets echo", echo, ours, "attach_p50_us",
                    ratio=spread(ratio, "ratio", 1, 2), goal="<= 1.5", met=median(ratio, "ratio") <= 1.5)
    report.compared("- beside the bare limit", "limit", limit, ours, "attach_p50_us",
                    ratio=spread(ratios(ours, limit, "attach_p50_us"), "ratio", 1, 2))


def thousand_at_once(bench, _peers, report):
    viewers = bench.crowd(1000)
    limit, ours = bench.in_turn(lambda: bench.pair("limit", ["--events", 1], ["--viewers", viewers]),
                                lambda: bench.pair("server", [], ["--viewers", viewers]))
    report.compared(f"{watching(viewers)} at once: ms until all are attached", "limit", limit, ours, "attach_all_ms",
                    ratio=spread(ratios(ours, limit, "attach_all_ms"), "ratio", 1, 2))


def idle_viewers(bench, _peers, report):
    viewers, events = bench.crowd(10000), 100
    hold = ["--hold", bench.scale(1000, 100)]
    alone, crowd = bench.in_turn(
        lambda: bench.pair("server", [], ["--viewers", 0, *hold]),
        lambda: bench.pair("server", ["--events", events], ["--viewers", viewers, "--events", events, *hold]))
    report.figure("the server, one run, no viewer: MiB of RSS", spread(alone, "rss", 1 << 20), goal="<= 8 MiB",
                  met=median(alone, "rss") <= 8 << 20)
    report.figure(f"{viewers:,} attached: an idle viewer's bytes of RSS", spread(crowd, "rss_a_viewer", 1, 0), goal="<= 4096",
                  met=median(crowd, "rss_a_viewer") <= 4096)
    report.figure("- ms until all are attached", spread(crowd, "attach_all_ms", 1, 0), goal="all attached",
                  met=len(crowd) == bench.rounds)
    report.figure("- CPU, % of a core, while nothing happens", spread(crowd, "idle_cpu_percent", 1, 2))
    report.figure(f"- {events} events flat out to all: M deliveries/s", spread(crowd, "per_second", 1e6, 2))


STEPS = [one_at_a_time, thousand_at_once, idle_viewers]
