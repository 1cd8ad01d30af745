/* Runs session.json: every row of PROTOCOL 7 against the resume machine, with a scripted peer and a virtual clock. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cjson/cJSON.h>
#include <swamp/status.h>
#include "session_script.h"
#include "tap.h"

/* One below a multiple of the width of every range of delays in use, so that a "high" world draws the top of
 * each range. */
#define HIGH_NUMBER (1001u * 3001ull * 7001ull * 14001ull - 1)

static cJSON *cases;
static const char *case_name;
static int step_number;

#define FAIL(...) fail_step(__LINE__, __VA_ARGS__)
static void fail_step(int line, const char *format, ...) __attribute__((format(printf, 2, 3), noreturn));

static void
fail_step(int line, const char *format, ...)
{
    char text[2000];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    ck_abort_msg("%s, step %d (line %d): %s", case_name, step_number, line, text);
    abort();
}

static const char *
text_at(const cJSON *array, int i)
{
    return cJSON_GetStringValue(cJSON_GetArrayItem(array, i));
}

static int64_t
number_at(const cJSON *array, int i, int64_t otherwise)
{
    const cJSON *item = cJSON_GetArrayItem(array, i);
    return cJSON_IsNumber(item) ? (int64_t)item->valuedouble : otherwise;
}

static uint64_t fixed_number;

static uint64_t
fixed_random(void *self)
{
    (void)self;
    return fixed_number;
}

/* 1 if every member of `want` is in `got`. A null member must be absent. */
static int
holds(const cJSON *want, const cJSON *got)
{
    if (!cJSON_IsObject(want))
        return cJSON_Compare(want, got, 1);
    const cJSON *member;
    cJSON_ArrayForEach(member, want)
    {
        const cJSON *mine = cJSON_GetObjectItemCaseSensitive(got, member->string);
        if (cJSON_IsNull(member) ? mine != NULL : !mine || !holds(member, mine))
            return 0;
    }
    return 1;
}

static script_out *
take(scripted *script, int what, int64_t low_ms, int64_t high_ms)
{
    char line[3000];
    int64_t began_ms = script->world->now_ms;
    script_out *out = script_take(script, high_ms);
    int64_t took_ms = script->world->now_ms - began_ms;
    if (!out || out->what != what)
        FAIL("expected output %d, got %s", what, script_out_name(out, line, sizeof line));
    if (took_ms < low_ms)
        FAIL("came after %lld ms, expected %lld to %lld: %s", (long long)took_ms, (long long)low_ms,
             (long long)high_ms, script_out_name(out, line, sizeof line));
    return out;
}

/* Steps. Each is [name, arguments...]; the table below maps names. */

static void
step_dial(scripted *script, const cJSON *step)
{
    script_out *out = take(script, OUT_DIAL, number_at(step, 1, 0), number_at(step, 2, 0));
    const char *url = text_at(step, 3);
    if (strcmp(out->text, url ? url : "ws://balancer:9090") != 0)
        FAIL("dialled %s", out->text);
    script_out_free(out);
}

static void
step_connect(scripted *script, const cJSON *step)
{
    (void)step;
    if (script->link != 1)
        FAIL("no dial is pending");
    script->link = 2;
    swamp__session_connected(script->session);
}

static void
step_lost(scripted *script, const cJSON *step)
{
    const char *why = text_at(step, 1);
    if (!script->link)
        FAIL("no link to lose");
    script->link = script->paused = 0;
    swamp__session_link_lost(script->session, SWAMP__LINK_LOST, 0, why ? why : "connection reset");
}

static void
step_unauthorized(scripted *script, const cJSON *step)
{
    (void)step;
    script->link = 0;
    swamp__session_link_lost(script->session, SWAMP__LINK_UNAUTHORIZED, 0, "HTTP 401");
}

static void
step_later(scripted *script, const cJSON *step)
{
    script->link = 0;
    swamp__session_link_lost(script->session, SWAMP__LINK_TRY_LATER, number_at(step, 1, 0), "HTTP 429");
}

static void
step_sent(scripted *script, const cJSON *step)
{
    script_out *out = take(script, OUT_SENT, number_at(step, 2, 0), number_at(step, 3, 0));
    cJSON *got = cJSON_Parse(out->text);
    if (!holds(cJSON_GetArrayItem(step, 1), got))
        FAIL("sent %s", out->text);
    cJSON_Delete(got);
    script_out_free(out);
}

static void
say(scripted *script, const char *text)
{
    if (script->link != 2)
        FAIL("no link to speak on: %s", text);
    swamp__session_message(script->session, text, strlen(text));
}

static void
step_say(scripted *script, const cJSON *step)
{
    cJSON *frame = cJSON_Duplicate(cJSON_GetArrayItem(step, 1), 1);
    const char *id = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(frame, "id"));
    const char *real = !id                      ? NULL
                       : !strcmp(id, "$")       ? script->id
                       : !strcmp(id, "$cancel") ? script->cancel_id
                                                : NULL;
    if (real)
        cJSON_ReplaceItemInObjectCaseSensitive(frame, "id", cJSON_CreateString(real));
    char *text = cJSON_PrintUnformatted(frame);
    say(script, text);
    cJSON_free(text);
    cJSON_Delete(frame);
}

static void
step_say_raw(scripted *script, const cJSON *step)
{
    say(script, text_at(step, 1));
}

static void
say_event(scripted *script, int64_t seq)
{
    char text[200];
    snprintf(text, sizeof text,
             "{\"type\":\"event\",\"id\":\"%s\",\"event\":{\"kind\":\"method_output\",\"line\":\"x\",\"seq\":"
             "%lld}}",
             script->id, (long long)seq);
    say(script, text);
}

static void
step_event(scripted *script, const cJSON *step)
{
    say_event(script, number_at(step, 1, 0));
}

/* Says events from..to; each is told at once, and the cursor stands behind it. */
static void
step_events(scripted *script, const cJSON *step)
{
    for (int64_t seq = number_at(step, 1, 1); seq <= number_at(step, 2, 0); seq++) {
        say_event(script, seq);
        script_out *out = take(script, OUT_TOLD, 0, 0);
        if (swamp_event_type(out->event) != SWAMP_EVENT_RUN || (int64_t)swamp_event_seq(out->event) != seq ||
            (int64_t)out->event->cursor_seq != seq)
            FAIL("event %lld was not told", (long long)seq);
        script_out_free(out);
    }
}

static const struct {
    const char *name;
    int type;
} type_names[] = {{"ACCEPTED", SWAMP_EVENT_ACCEPTED},
                  {"RUN", SWAMP_EVENT_RUN},
                  {"GAP", SWAMP_EVENT_GAP},
                  {"ATTACHED", SWAMP_EVENT_ATTACHED},
                  {"RECONNECTING", SWAMP_EVENT_RECONNECTING},
                  {"ELSEWHERE", SWAMP_EVENT_ELSEWHERE},
                  {"DRAINING", SWAMP_EVENT_DRAINING},
                  {"INTERRUPTED", SWAMP_EVENT_INTERRUPTED},
                  {"DONE", SWAMP_EVENT_DONE},
                  {"ERROR", SWAMP_EVENT_ERROR}};

static const char *
type_name(const swamp_event *event)
{
    for (size_t i = 0; i < sizeof type_names / sizeof type_names[0]; i++)
        if (type_names[i].type == swamp_event_type(event))
            return type_names[i].name;
    return "?";
}

/* The event as JSON, so that the subset rule of the messages holds for it, too. */
static cJSON *
event_to_json(const swamp_event *event)
{
    cJSON *json = cJSON_CreateObject();
    const char *text = swamp_event_json(event, NULL);
    cJSON_AddStringToObject(json, "type", type_name(event));
    cJSON_AddStringToObject(json, "runId", swamp_event_run_id(event));
    cJSON_AddStringToObject(json, "kind", swamp_event_kind(event) ? swamp_event_kind(event) : "");
    cJSON_AddStringToObject(json, "reason", swamp_event_reason(event));
    cJSON_AddStringToObject(json, "status", swamp_event_status(event));
    cJSON_AddStringToObject(json, "code", swamp_event_code(event));
    cJSON_AddStringToObject(json, "message", swamp_event_message(event));
    cJSON_AddStringToObject(json, "instanceId", swamp_event_instance_id(event));
    cJSON_AddStringToObject(json, "address", swamp_event_address(event));
    cJSON_AddStringToObject(json, "epoch", event->epoch ? event->epoch : "");
    cJSON_AddStringToObject(json, "error", swamp_status_name(swamp_event_error(event)));
    cJSON_AddNumberToObject(json, "seq", (double)swamp_event_seq(event));
    cJSON_AddNumberToObject(json, "fromSeq", (double)swamp_event_from_seq(event));
    cJSON_AddNumberToObject(json, "toSeq", (double)swamp_event_to_seq(event));
    cJSON_AddNumberToObject(json, "cursor", (double)event->cursor_seq);
    cJSON_AddNumberToObject(json, "attempt", swamp_event_attempt(event));
    cJSON_AddNumberToObject(json, "success", swamp_event_success(event));
    cJSON_AddNumberToObject(json, "retryAfterMs", swamp_event_retry_after_ms(event));
    if (text)
        cJSON_AddItemToObject(json, "json", cJSON_Parse(text));
    return json;
}

static void
step_told(scripted *script, const cJSON *step)
{
    script_out *out = take(script, OUT_TOLD, number_at(step, 2, 0), number_at(step, 3, 0));
    cJSON *got = event_to_json(out->event);
    if (!holds(cJSON_GetArrayItem(step, 1), got))
        FAIL("told %s", cJSON_PrintUnformatted(got));
    cJSON_Delete(got);
    script_out_free(out);
}

static void
step_ping(scripted *script, const cJSON *step)
{
    script_out_free(take(script, OUT_PING, number_at(step, 1, 0), number_at(step, 2, 0)));
}

static void
step_alive(scripted *script, const cJSON *step)
{
    (void)step;
    swamp__session_alive(script->session);
}

static void
step_quiet(scripted *script, const cJSON *step)
{
    char line[3000];
    fake_world_advance(script->world, number_at(step, 1, 0));
    if (script->outs)
        FAIL("expected quiet, got %s", script_out_name(script->outs, line, sizeof line));
}

static void
step_link(scripted *script, const cJSON *step)
{
    static const char *names[] = {"none", "dialling", "up"};
    if (strcmp(names[script->link], text_at(step, 1)) != 0)
        FAIL("the link is %s", names[script->link]);
}

static void
step_room(scripted *script, const cJSON *step)
{
    swamp__session_room(script->session, (int)number_at(step, 1, 1));
}

static void
step_paused(scripted *script, const cJSON *step)
{
    if (script->paused != number_at(step, 1, 1))
        FAIL("reading is %s", script->paused ? "paused" : "not paused");
}

static void
step_cancel(scripted *script, const cJSON *step)
{
    swamp__session_cancel(script->session, text_at(step, 1));
}

static void
step_ended(scripted *script, const cJSON *step)
{
    (void)step;
    if (!swamp__session_ended(script->session))
        FAIL("the session has not ended");
    if (script->link)
        FAIL("the session has ended and holds a link");
    fake_world_advance(script->world, 1000000);
}

static void run_steps(scripted *script, const cJSON *steps);

static void
step_repeat(scripted *script, const cJSON *step)
{
    for (int64_t i = 0; i < number_at(step, 1, 0); i++)
        run_steps(script, cJSON_GetArrayItem(step, 2));
}

static const struct {
    const char *name;
    void (*run)(scripted *script, const cJSON *step);
} step_table[] = {
    {"dial", step_dial},     {"connect", step_connect},
    {"lost", step_lost},     {"unauthorized", step_unauthorized},
    {"later", step_later},   {"sent", step_sent},
    {"say", step_say},       {"say_raw", step_say_raw},
    {"event", step_event},   {"events", step_events},
    {"told", step_told},     {"ping", step_ping},
    {"alive", step_alive},   {"quiet", step_quiet},
    {"link", step_link},     {"room", step_room},
    {"paused", step_paused}, {"cancel", step_cancel},
    {"ended", step_ended},   {"repeat", step_repeat},
};

static void
run_steps(scripted *script, const cJSON *steps)
{
    const cJSON *step;
    cJSON_ArrayForEach(step, steps)
    {
        size_t i = 0;
        step_number++;
        while (i < sizeof step_table / sizeof step_table[0] &&
               strcmp(step_table[i].name, text_at(step, 0)) != 0)
            i++;
        if (i == sizeof step_table / sizeof step_table[0])
            FAIL("unknown step %s", text_at(step, 0));
        step_table[i].run(script, step);
        if (script->dials_while_linked)
            FAIL("a dial beside a link");
    }
}

static const char *
text_of(const cJSON *object, const char *name)
{
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
}

static void
read_options(const cJSON *one, swamp__session_options *options)
{
    const cJSON *attach = cJSON_GetObjectItemCaseSensitive(one, "attach");
    const cJSON *after = cJSON_GetObjectItemCaseSensitive(attach, "afterSeq");
    script_default_options(options);
    if (text_of(one, "url"))
        options->url = text_of(one, "url");
    options->has_token = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(one, "token"));
    if (attach) {
        options->run_id = text_of(attach, "runId");
        options->epoch = text_of(attach, "epoch");
        options->after_seq = after ? (uint64_t)after->valuedouble : 0;
    } else {
        options->start_type = "workflow.run";
        options->start_payload = "{\"workflowIdOrName\":\"deploy\"}";
    }
}

START_TEST(test_case)
{
    const cJSON *one = cJSON_GetArrayItem(cases, _i);
    swamp__session_options options;
    scripted script;
    char line[3000];
    case_name = text_of(one, "name");
    step_number = 0;
    read_options(one, &options);
    script_open(&script, &options);
    if (text_of(one, "random")) {
        fixed_number = strcmp(text_of(one, "random"), "low") == 0 ? 0 : HIGH_NUMBER;
        script.node->world.random = fixed_random;
    }
    swamp__session_begin(script.session);
    run_steps(&script, cJSON_GetObjectItemCaseSensitive(one, "steps"));
    if (script.outs)
        FAIL("left over: %s", script_out_name(script.outs, line, sizeof line));
    script_close(&script);
}
END_TEST

static cJSON *
read_vectors(void)
{
    char path[1000];
    const char *root = getenv("SWAMP_SOURCE_ROOT");
    snprintf(path, sizeof path, "%s/tests/wire/session.json", root ? root : ".");
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    fseek(file, 0, SEEK_END);
    size_t len = (size_t)ftell(file);
    rewind(file);
    char *text = malloc(len);
    cJSON *json = fread(text, 1, len, file) == len ? cJSON_ParseWithLength(text, len) : NULL;
    fclose(file);
    free(text);
    return json;
}

int
main(void)
{
    cJSON *vectors = read_vectors();
    cases = cJSON_GetObjectItemCaseSensitive(vectors, "cases");
    if (!cases) {
        fprintf(stderr, "tests/wire/session.json cannot be read; set SWAMP_SOURCE_ROOT\n");
        return 1;
    }
    Suite *suite = suite_create("session");
    for (int i = 0; i < cJSON_GetArraySize(cases); i++) {
        TCase *tcase = tcase_create(text_of(cJSON_GetArrayItem(cases, i), "name"));
        tcase_add_loop_test(tcase, test_case, i, i + 1);
        suite_add_tcase(suite, tcase);
    }
    int status = tap_main(suite);
    cJSON_Delete(vectors);
    return status;
}
