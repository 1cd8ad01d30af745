/* One world with a memory store and a server in it, and the sentences that tests of server/ are made of. */
#ifndef SWAMP_TESTS_SERVER_FIXTURE_H
#define SWAMP_TESTS_SERVER_FIXTURE_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <swamp/status.h>
#include "../../../libswamp/store/keys.h"
#include "../../../libswamp/store/store.h"
#include "../../support/fake_server.h"
#include "tap.h"

extern fake_world *world;
extern swamp_store *store;
extern fake_server *server;
extern fake_peer *peer;
extern swamp__instance_options options; /* for set_up(); reset to the defaults by each tear_down() */

void set_up(void);           /* with the memory store */
void set_up_storeless(void); /* without a store */
void tear_down(void);
TCase *add_case(Suite *suite, const char *name); /* with set_up and tear_down around each test */

void advance(int64_t ms);
fake_server *add_server(void); /* one more instance on the same store; tear_down() frees it */
void send_start(fake_peer *to, const char *id);
void send_attach(fake_peer *to, const char *id, const char *run_id, uint64_t after_seq);
void send_plain(fake_peer *to, const char *type, const char *id);
swamp_run *start_run(fake_peer *to, const char *id); /* and lets it be accepted; takes run.accepted */
/* The next text frame within 1 ms has all of these in it (NULL ends the list). */
void expect(fake_peer *from, const char *first, ...) __attribute__((sentinel));
void expect_event(fake_peer *from, const char *id, uint64_t seq);
void expect_nothing(fake_peer *from, int64_t ms);
char *stored(const char *key); /* the record's text, freed by the next call; NULL: absent */
void put_record(const char *key, const char *value); /* NULL: removes it */
void put_foreign(const char *run_id);                /* an active run of instance I2 */
void beat_foreign(void);                             /* I2's heartbeat, with other bytes each time */

#endif
