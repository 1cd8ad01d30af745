"""What swamp_run_emit() costs the thread that calls it."""
from .measure import median, spread, watching


def emit(bench, _peers, report):
    for viewers in (0, 1):
        (found,) = bench.in_turn(lambda: bench.result("emit", "--viewers", viewers, "--events", bench.scale(100000, 1000)))
        report.figure(f"an emit, 200 bytes, the log full, {watching(viewers)}: CPU ns", spread(found, "emit_cpu_ns", 1, 0),
                      goal="<= 300 ns", met=median(found, "emit_cpu_ns") <= 300)
        report.figure("- by the clock, ns", spread(found, "emit_wall_ns", 1, 0))


STEPS = [emit]
