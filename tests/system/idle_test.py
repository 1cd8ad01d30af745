"""Balancers that cut what is idle for 30 s, before a run that says nothing for 75: pings keep its one connection."""
import os
import socket
import subprocess
import time

import swamp_test
from swamp_test import SwampTest, find_program, workflow

SILENT_S = 75
SILENT = "echo begun; sleep %d; echo gone on" % SILENT_S

# No `timeout tunnel`: after the upgrade the idle limits of client and server go on.
HAPROXY = """
global
    nbthread 1
defaults
    mode http
    timeout connect 2s
    timeout client 30s
    timeout server 30s
listen door
    bind fd@{fd}
    server one 127.0.0.1:{port}
"""

NGINX = """
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/nginx.log;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{
        listen 127.0.0.1:{door};
        location / {{
            proxy_pass http://127.0.0.1:{port};
            proxy_http_version 1.1;
            proxy_set_header Host $http_host;
            proxy_set_header Upgrade $http_upgrade;
            proxy_set_header Connection upgrade;
            proxy_read_timeout 30s;
            proxy_send_timeout 30s;
        }}
    }}
}}
"""


class Idle(SwampTest):
    def spawn(self, words, **options):
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, **options)
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)  # nginx ends its workers only when it is asked

    def write(self, name, text):
        with open(self.path(name), "w", encoding="ascii") as file:
            file.write(text)
        return self.path(name)

    def haproxy(self, port):
        program = find_program("haproxy")
        with socket.create_server(("127.0.0.1", 0)) as door:
            self.spawn([program, "-db", "-f", self.write("haproxy.cfg", HAPROXY.format(fd=door.fileno(), port=port))],
                       pass_fds=[door.fileno()])
            return door.getsockname()[1]

    def nginx(self, port):
        program = find_program("nginx")
        with socket.create_server(("127.0.0.1", 0)) as free:  # nginx takes no socket of ours: a port that was free
            door = free.getsockname()[1]
        self.spawn([program, "-p", self.folder, "-c",
                    self.write("nginx.conf", NGINX.format(folder=self.folder, door=door, port=port))])
        return door

    def ready(self, door):
        try:
            with socket.create_connection(("127.0.0.1", door), 1) as end:
                end.settimeout(5)
                end.sendall(b"GET /ready HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n")
                return end.recv(4096).split()[1:2] == [b"200"]
        except OSError:
            return False

    def check_silent_run(self, balancer):
        self.write_workflow("silent", workflow("silent", SILENT))
        server = self.serve()
        door = balancer(server.port)
        swamp_test.wait_until(lambda: self.ready(door), "the balancer to answer")
        begun = time.monotonic()
        done = self.start_and_wait("workflow", "run", "silent", "--json", "--server", "http://127.0.0.1:%d" % door)
        self.assertGreater(time.monotonic() - begun, SILENT_S - 1)
        self.assert_code(done, 0)
        lines = [event["line"] for event in self.events(done) if event["kind"] == "method_output"]
        self.assertEqual(lines, ["begun", "gone on"])
        self.assertNotIn("reconnecting", done.err)  # one connection for all of it

    def start_and_wait(self, *words):
        client = self.start(*words)
        client.process.wait(SILENT_S + swamp_test.PATIENCE)
        return client.wait()

    def test_a_run_silent_for_75_s_keeps_its_connection_behind_haproxy(self):
        self.check_silent_run(self.haproxy)

    def test_a_run_silent_for_75_s_keeps_its_connection_behind_nginx(self):
        self.check_silent_run(self.nginx)


swamp_test.main()
