"""Each step in the life of a run and of an instance x each fault, on real processes: the outcome is never unknown.

The steps and the faults are the two tables below, and there is one test for each pair of them. Who takes the step (the
actor) is preloaded with tests/support/faulty_store.c, which strikes at the very call; frames are seen by the door that
the client goes through.
"""
import collections
import os
import signal
import time

import swamp_test
from cluster import QUICK, TTL_S
from stage import FINAL, PAUSE_S, StageTest
from swamp_test import wait_until, workflow

FAULTY_STORE = os.environ["FAULTY_STORE"]  # the library to preload, set by meson

# The writes and reads as faulty_store.c puts them into words, the frames by bytes of theirs.
ADMISSION = "commit check heartbeats/* present *; put active-runs/*"
END = "commit check heartbeats/* present *; remove active-runs/*; put runs/*"
FORGET = "commit check heartbeats/* present *; remove instance-runs/*"
DEATH = "commit check heartbeats/* present *; remove heartbeats/*"
REAPING = "commit check heartbeats/* absent *"

# scene: which play it is a step of, and so who takes it. kind: what can befall it. after: only after this call.
# gate: the run may go on before the step is waited for. late_ms: of an answer that is late, less than a TTL for what the
# heartbeat thread asks (whose beats would be late, which is a death), more than one for all else (which is none).
Step = collections.namedtuple("Step", "scene kind words after gate late_ms", defaults=("", False, 3000))
STEPS = {
    "start_first_beat": Step("start", "commit", "commit put heartbeats/* absent *", late_ms=1000),
    "start_first_read": Step("start", "read", "list heartbeats/", late_ms=1000),
    "admission_commit": Step("run", "commit", ADMISSION),
    "run_accepted": Step("run", "frame", b'"type":"run.accepted"', late_ms=1000),
    "first_event": Step("run", "frame", b'"seq":1}', late_ms=1000),
    "any_event": Step("run", "frame", b'"line":"begun"', late_ms=1000),
    "any_beat": Step("run", "commit", "commit put heartbeats/* revision *", after=ADMISSION, late_ms=1000),
    "lock_held": Step("run", "lock", "lock", after=ADMISSION),
    "finish": Step("run", "call", "finish *", gate=True, late_ms=1000),
    "final_commit": Step("run", "commit", END, gate=True),
    "last_event": Step("run", "frame", b'"kind":"completed"', gate=True, late_ms=1000),
    "done": Step("run", "frame", b'"type":"done"', gate=True, late_ms=1000),
    "linger_end": Step("run", "commit", FORGET, gate=True),
    "death_commit": Step("death", "commit", DEATH, late_ms=1000),
    "reaping_list_of_runs": Step("death", "read", "list instance-runs/ keys", after=DEATH),
    "reaping_list_of_living": Step("death", "read", "list heartbeats/ keys", after=DEATH),
    "reaping_read_of_active": Step("death", "read", "get active-runs/*", after=DEATH),
    "reaping_read_of_run": Step("death", "read", "get runs/*", after=DEATH),
    "reaping_commit": Step("death", "commit", REAPING, after=DEATH),
    "drain_beat": Step("drain", "commit", 'commit put heartbeats/* revision *"draining":true*', late_ms=1000),
    "drain_notice": Step("drain", "frame", b'"type":"server.drain"', late_ms=1000),
    "drain_final_commit": Step("drain", "commit", END + "instance_shutdown*"),
    "drain_close": Step("drain", "frame", b"\x03\xe9shutdown"),
    "drain_forget": Step("drain", "commit", FORGET),
    "drain_heartbeat_removed": Step("drain", "commit", "commit remove heartbeats/*", late_ms=1000),
}

# As faulty_store.c names them. "other": the reaper, where the owner takes the step; the owner, where the reaper does.
# A fault of the store that is to come at a frame or at "finish" befalls the next commit.
FAULTS = {
    "kill_before": "kill before",
    "kill_after": "kill after",
    "kill_other": "kill after",
    "stop_before": "stop before",
    "stop_after": "stop after",
    "error": "error",
    "late": "late",
    "unknown_written": "lost after",
    "unknown_not_written": "lost before",
    "wake_other": "wake before",
}
ONLY_IN = {"wake_other": "death"}  # elsewhere nobody sleeps
ERROR_MS = 1000  # so long each such call fails; so long who was woken may write before the call is made

# Pairs that are no case of their own, by kind or by step, and why.
SAME_AS_BEFORE = "nothing is left behind yet: the same as before it"
NO_WRITE = "a read writes nothing whose answer could be lost: see error and late"
BELOW = "the lock is below the store's answers: see the commits"
NEXT_IS_FORGET = "the next commit is that of drain_forget"
LIKE_ERROR = "what that commit is nobody can say: see the commits"
NO_CASE = {
    "read": {"kill_after": SAME_AS_BEFORE, "stop_after": SAME_AS_BEFORE, "unknown_written": NO_WRITE, "unknown_not_written": NO_WRITE},
    "lock": {"kill_before": SAME_AS_BEFORE, "stop_before": SAME_AS_BEFORE, "error": BELOW, "unknown_written": BELOW,
             "unknown_not_written": BELOW},
    "call": {"unknown_not_written": LIKE_ERROR},
    "frame": {"unknown_not_written": LIKE_ERROR},
    "drain_close": {"error": NEXT_IS_FORGET, "late": NEXT_IS_FORGET, "unknown_written": NEXT_IS_FORGET},
}


class Matrix(StageTest):
    def play(self, step, name):
        self.write_workflow("held", workflow("held", "echo begun; read go < gate; echo gone on"))
        self.step, self.name = step, name
        self.stops, self.kills = name.startswith("stop"), name in ("kill_before", "kill_after")
        self.reborn = set()  # those that were declared dead and went on
        self.at_hit = {}  # the records of the runs when the actor was struck
        {"start": self.play_start, "run": self.play_run, "death": self.play_death, "drain": self.play_drain}[step.scene]()
        known = {self.check_client(client, run) for client, run in self.followed} | set(self.at_hit)
        self.assertEqual(set(self.runs()), known - {None})
        for run in self.runs():
            self.wait_final(run)
            self.check_outcome(run)
        self.wait_nothing_left()
        self.check_answers()
        self.check_lives()
        self.stop_all()
        self.witness.look()
        self.assertEqual(self.witness.wrong, [])

    # ---- the actor ----

    def actor(self, other, *words, listens=True):
        """The instance that takes the step, with the fault in it; the other one is whom it may kill."""
        step = self.step
        env = {"LD_PRELOAD": FAULTY_STORE, "ASAN_OPTIONS": "verify_asan_link_order=0", "FAULT_FOLDER": self.folder,
               "FAULT": FAULTS[self.name], "FAULT_AT": "commit *" if step.kind == "frame" else step.words, "FAULT_AFTER": step.after,
               "FAULT_MS": str(step.late_ms if self.name == "late" else ERROR_MS),
               "FAULT_PID": str(other.process.pid) if self.name.endswith("other") else ""}
        return self.serve([*QUICK[:-2], "--drain-grace", "0", "--linger", "1s", *words], env, listens)

    def plain(self):
        return self.serve([*QUICK, "--drain-grace", "0", "--linger", "1s"])

    def arm(self):
        open(self.path("armed"), "w").close()

    def watch_frames(self, door, actor, other):
        """For a step that is a frame: the signals are sent when it passes; faults of the store meet the next commit."""
        if self.step.kind != "frame":
            return
        def act():
            if self.stops:
                self.stop_beside_the_lock(actor)
            elif self.kills:
                actor.send(signal.SIGKILL)
            elif self.name == "kill_other":
                other.send(signal.SIGKILL)
            else:
                self.arm()
        door.when(self.step.words, self.name.endswith("before"), act)

    def wait_hit(self, actor, other, door=None):
        """The fault has struck; what was recorded by then, where it struck the actor down. When it may go on."""
        if door and self.step.kind == "frame":
            self.assertTrue(door.passed.wait(swamp_test.PATIENCE), "no frame with %r" % self.step.words)
        if self.step.kind != "frame" or self.name in ("error", "late", "unknown_written", "unknown_not_written"):
            wait_until(lambda: os.path.exists(self.path("met")), "the call %r" % self.step.words)
        until = time.monotonic() + 2 * TTL_S
        if self.name == "kill_other":
            other.wait()
        elif self.kills:
            actor.wait()
        elif self.stops:
            self.wait_stopped(actor)
        if self.kills or self.stops:
            self.at_hit = {run: self.record(run) for run in self.runs()}
        return until

    def revive(self, actor, until):
        """SIGCONT, 2 x TTL after the stop, and after its death was committed."""
        if not self.stops:
            return
        # who holds the lock cannot be declared dead, nor who has no heartbeat yet
        dies = self.step.kind != "lock" and not (self.step is STEPS["start_first_beat"] and self.name == "stop_before")
        if dies:
            others = {life for server in self.servers if server is not actor for life in self.lives(server)}
            wait_until(lambda: self.alive() <= others, "the death of who was stopped", PAUSE_S)
            self.reborn.add(actor)
        self.sleep_until(until)
        actor.send(signal.SIGCONT)
        if dies and self.step.scene != "drain":
            actor.wait_line("err", "going on as a new instance")
            self.wait_serving(actor)

    # ---- the plays ----

    def play_start(self):
        """An instance starts beside another one; then a run is begun on it."""
        self.arm()
        other = self.plain()
        actor = self.actor(other, listens=False)
        self.revive(actor, self.wait_hit(actor, other))
        if not self.kills:
            self.wait_serving(actor)
        servers = [other] if self.kills else [actor] if self.name == "kill_other" else [actor, other]
        first, run = self.begin(self.door(servers).url)
        second = self.client(self.door(servers[::-1], turns=True), "run", "attach", run)
        self.open_gate()
        self.followed = [(first, run), (second, run)]

    def play_run(self):
        """A run on the actor, which another instance looks on at; a second client comes by way of that one."""
        if self.step.kind != "frame":
            self.arm()
        other = self.plain()
        actor = self.actor(other)
        door = self.door([actor, other])
        self.watch_frames(door, actor, other)
        first = self.client(door, "workflow", "run", "held")
        self.followed = [(first, None)]
        if self.step.gate:
            self.attach_second(first, [other, actor])
            self.followed[1][0].wait_line("out", "begun")
            self.open_gate()
        until = self.wait_hit(actor, other, door)
        self.open_gate()
        if not self.step.gate and self.at_hit:
            self.attach_second(first, [other, actor])
        self.revive(actor, until)
        if len(self.followed) == 1 and not self.kills:
            self.attach_second(first, [other, actor])

    def attach_second(self, first, servers):
        """By the run's id as the first client knows it, or as it is recorded when it was killed before it was told."""
        if self.at_hit:
            run = next(iter(self.at_hit))
        else:
            run = first.wait_line("err", r'"accepted","runId":"([^"]+)"').group(1)
        self.followed.append((self.client(self.door(servers, turns=True), "run", "attach", run), run))

    def play_death(self):
        """The owner of a run is stopped; the actor declares it dead and reaps; a third one may have to finish that."""
        owner = self.plain()
        actor = self.actor(owner)
        door = self.door([owner, actor])
        first, run = self.begin(door.url)
        self.stop_beside_the_lock(owner)
        self.arm()
        until = self.wait_hit(actor, owner)
        servers = [actor]
        if self.kills or self.stops:
            servers = [self.plain(), actor]
            door.servers.append(servers[0])
        elif self.name == "wake_other":
            servers.append(owner)
        self.open_gate()
        second = self.client(self.door(servers, turns=True), "run", "attach", run)
        self.followed = [(first, run), (second, run)]
        if self.is_saved():
            return
        self.revive(actor, until)
        self.wait_final(run)
        self.wait_gone(self.lives(owner)[0])
        if self.name != "kill_other":
            owner.send(signal.SIGCONT)  # the zombie wakes
            owner.wait_line("err", "going on as a new instance")
            self.wait_serving(owner)
            self.reborn.add(owner)

    def play_drain(self):
        """A planned stop of the actor, whose run does not end in the time that it has."""
        other = self.plain()
        actor = self.actor(other, "--drain-timeout", "1s")
        door, idle = self.door([actor, other]), self.door([actor])
        self.watch_frames(idle, actor, other)
        first, run = self.begin(door.url)
        second = self.client(self.door([other, actor], turns=True), "run", "attach", run)
        second.wait_line("out", "begun")
        still = swamp_test.Socket(idle.port)  # a connection without a request, which stays to the end
        self.addCleanup(still.close)
        self.followed = [(first, run), (second, run)]
        if self.step.kind != "frame":
            self.arm()
        actor.send(signal.SIGTERM)
        self.revive(actor, self.wait_hit(actor, other, idle))
        actor.wait()
        if self.name == "kill_other":
            self.plain()  # whoever comes next finds what the dead one left

    # ---- the outcome ----

    def is_saved(self):
        """The owner beat in time for the condition on its revision."""
        return self.step is STEPS["death_commit"] and self.name == "wake_other"

    def check_outcome(self, run):
        """Of a run that the fault did not touch: its own end. Of one whose instance died: what was recorded then, or the death."""
        record = self.record(run)
        end = (record["status"], record.get("interruptReason"))
        own = ("cancelled", "instance_shutdown") if self.step.scene == "drain" else ("succeeded", None)
        dead = ("failed", "instance_dead")
        if self.step.scene == "death":
            self.assertEqual(end, own if self.is_saved() else dead)
        elif run in self.at_hit and (self.kills or self.step.kind != "lock"):
            then = self.at_hit[run]["status"]
            self.assertEqual(end, own if then in FINAL else dead)
        else:
            self.assertEqual(end, own)

    def check_lives(self):
        """Nobody was declared dead but whoever was killed, or stopped for so long: and who holds the lock is not."""
        for server in self.living():
            self.assertEqual(len(self.lives(server)), 2 if server in self.reborn else 1, server.lines)


def add_case(step_name, fault_name):
    step = STEPS[step_name]
    actor, other = ("reaper", "owner") if step.scene == "death" else ("owner", "reaper")
    words = {"kill_before": "kill_of_the_%s_before" % actor, "kill_after": "kill_of_the_%s_after" % actor,
             "kill_other": "kill_of_the_" + other, "wake_other": "waking_of_the_" + other}

    def case(self):
        self.play(step, fault_name)

    setattr(Matrix, "test_%s__%s" % (step_name, words.get(fault_name, fault_name)), case)


def is_case(step_name, fault_name):
    step = STEPS[step_name]
    why_not = NO_CASE.get(step.kind, {}) | NO_CASE.get(step_name, {})
    return ONLY_IN.get(fault_name, step.scene) == step.scene and fault_name not in why_not


for _step in STEPS:
    for _fault in FAULTS:
        if is_case(_step, _fault):
            add_case(_step, _fault)

if __name__ == "__main__":
    swamp_test.main(at_once=16)
