"""A run that says nothing, behind something that cuts every two seconds: its client goes on for ever."""
import threading

import swamp_test
from swamp_test import UNTIL_GO, SwampTest, wait_until, workflow


class Silent(SwampTest):
    def test_a_silent_run_that_is_cut_every_two_seconds_goes_on(self):
        self.write_workflow("held", workflow("held", UNTIL_GO))
        server = self.serve()
        proxy = self.proxy(server.port)
        client = self.start("workflow", "run", "held", "--json", "--server", proxy.url)
        client.wait_line("out", "begun")
        over = threading.Event()

        def cut_for_ever():
            while not over.wait(2):
                proxy.cut()

        cutting = threading.Thread(target=cut_for_ever, daemon=True)
        cutting.start()
        self.addCleanup(over.set)
        # more often than the dials that a client tries without any answer (5)
        wait_until(lambda: client.process.poll() is not None or
                   "\n".join(client.lines["err"]).count('"swamp":"attached"') >= 6, "six times attached again")
        self.assertIsNone(client.process.poll(), repr(client.lines))
        over.set()
        cutting.join()
        with open(self.path("go"), "w", encoding="ascii"):
            pass
        done = client.wait()
        self.assert_code(done, 0)
        self.assertIn("gone on", done.out)
        self.events(done)


swamp_test.main()
