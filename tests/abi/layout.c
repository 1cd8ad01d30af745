/* Pins the layout of every public struct on 64-bit systems: lines are only ever added, sizes only ever grow. */
#include <stddef.h>
#include <stdint.h>
#include <swamp/swamp.h>

#if UINTPTR_MAX == UINT64_MAX
#define FIELD(type, member, at) _Static_assert(offsetof(type, member) == (at), #type "." #member " has moved")
#define SIZE(type, bytes)                                                                                    \
    _Static_assert(sizeof(type) == (bytes), #type " has changed its size: only append members")

FIELD(swamp_store_op, key, 0);
FIELD(swamp_store_op, value, 8);
FIELD(swamp_store_op, value_len, 16);
FIELD(swamp_store_op, revision, 24);
FIELD(swamp_store_op, action, 32);
FIELD(swamp_store_op, condition, 36);
SIZE(swamp_store_op, 40);

FIELD(swamp_store_vtable, size, 0);
FIELD(swamp_store_vtable, flags, 8);
FIELD(swamp_store_vtable, destroy, 16);
FIELD(swamp_store_vtable, get, 24);
FIELD(swamp_store_vtable, list, 32);
FIELD(swamp_store_vtable, commit, 40);
SIZE(swamp_store_vtable, 48);

FIELD(swamp_sqlite_options, size, 0);
FIELD(swamp_sqlite_options, synchronous_full, 8);
FIELD(swamp_sqlite_options, log_level, 12);
FIELD(swamp_sqlite_options, log, 16);
FIELD(swamp_sqlite_options, log_user, 24);
SIZE(swamp_sqlite_options, 32);

FIELD(swamp_executor, size, 0);
FIELD(swamp_executor, work, 8);
FIELD(swamp_executor, destroy, 16);
SIZE(swamp_executor, 24);

FIELD(swamp_server_options, size, 0);
FIELD(swamp_server_options, store, 8);
FIELD(swamp_server_options, host, 16);
FIELD(swamp_server_options, advertise_url, 24);
FIELD(swamp_server_options, version_text, 32);
FIELD(swamp_server_options, git_sha, 40);
FIELD(swamp_server_options, cert_file, 48);
FIELD(swamp_server_options, key_file, 56);
FIELD(swamp_server_options, allowed_origins, 64);
FIELD(swamp_server_options, executor, 72);
FIELD(swamp_server_options, executor_user, 80);
FIELD(swamp_server_options, log, 88);
FIELD(swamp_server_options, log_user, 96);
FIELD(swamp_server_options, log_level, 104);
FIELD(swamp_server_options, flags, 108);
FIELD(swamp_server_options, port, 112);
FIELD(swamp_server_options, loop, 116);
FIELD(swamp_server_options, executor_threads, 120);
FIELD(swamp_server_options, heartbeat_interval_ms, 124);
FIELD(swamp_server_options, stale_ttl_ms, 128);
FIELD(swamp_server_options, reconciliation_interval_ms, 132);
FIELD(swamp_server_options, drain_grace_ms, 136);
FIELD(swamp_server_options, linger_ms, 140);
FIELD(swamp_server_options, idle_timeout_ms, 144);
FIELD(swamp_server_options, stall_timeout_ms, 148);
FIELD(swamp_server_options, history_retention_s, 152);
FIELD(swamp_server_options, max_run_duration_s, 156);
FIELD(swamp_server_options, max_runs, 160);
FIELD(swamp_server_options, max_runs_per_principal, 164);
FIELD(swamp_server_options, max_connections, 168);
FIELD(swamp_server_options, max_requests_per_connection, 172);
FIELD(swamp_server_options, run_log_events, 176);
FIELD(swamp_server_options, store_timeout_ms, 180);
FIELD(swamp_server_options, run_log_bytes, 184);
FIELD(swamp_server_options, all_logs_bytes, 192);
SIZE(swamp_server_options, 200);

FIELD(swamp_client_options, size, 0);
FIELD(swamp_client_options, url, 8);
FIELD(swamp_client_options, token, 16);
FIELD(swamp_client_options, ca_cert_file, 24);
FIELD(swamp_client_options, log, 32);
FIELD(swamp_client_options, log_user, 40);
FIELD(swamp_client_options, log_level, 48);
FIELD(swamp_client_options, connect_timeout_ms, 52);
FIELD(swamp_client_options, idle_timeout_ms, 56);
FIELD(swamp_client_options, request_timeout_ms, 60);
SIZE(swamp_client_options, 64);

FIELD(swamp_session_options, size, 0);
FIELD(swamp_session_options, epoch, 8);
FIELD(swamp_session_options, after_seq, 16);
FIELD(swamp_session_options, queue_bytes, 24);
FIELD(swamp_session_options, max_dials, 32);
FIELD(swamp_session_options, retry_min_ms, 36);
FIELD(swamp_session_options, retry_first_ms, 40);
FIELD(swamp_session_options, retry_max_ms, 44);
FIELD(swamp_session_options, settle_ms, 48);
FIELD(swamp_session_options, max_elsewhere, 52);
FIELD(swamp_session_options, elsewhere_give_up_ms, 56);
FIELD(swamp_session_options, elsewhere_min_ms, 60);
FIELD(swamp_session_options, elsewhere_max_ms, 64);
FIELD(swamp_session_options, dial_address_after, 68);
FIELD(swamp_session_options, history_poll_min_ms, 72);
FIELD(swamp_session_options, history_poll_max_ms, 76);
FIELD(swamp_session_options, history_give_up_ms, 80);
FIELD(swamp_session_options, max_not_found, 84);
FIELD(swamp_session_options, give_up_ms, 88);
FIELD(swamp_session_options, answer_timeout_ms, 92);
SIZE(swamp_session_options, 96);

FIELD(swamp_session_callbacks, size, 0);
FIELD(swamp_session_callbacks, on_event, 8);
FIELD(swamp_session_callbacks, on_attached, 16);
FIELD(swamp_session_callbacks, on_elsewhere, 24);
FIELD(swamp_session_callbacks, on_interrupted, 32);
FIELD(swamp_session_callbacks, on_reconnecting, 40);
FIELD(swamp_session_callbacks, on_gap, 48);
FIELD(swamp_session_callbacks, on_draining, 56);
FIELD(swamp_session_callbacks, on_done, 64);
FIELD(swamp_session_callbacks, on_error, 72);
FIELD(swamp_session_callbacks, user, 80);
SIZE(swamp_session_callbacks, 88);
#endif

int
main(void)
{
    return 0; /* it compiled: that was the test */
}
