/* The keys of the control-plane records: built here only, so that no id can ever leave its segment. */
#include "keys.h"

#include <assert.h>
#include <string.h>
#include <swamp/status.h>

/* The longest prefix of all, two segments and a slash fit a key. */
#define SEGMENT_MAX 200

/*
 * Ids are copied as they are, so that an id that was read out of a key leads to the same key again; names are
 * free text, so '%' is escaped too and two different names (up to the cut) never share a key.
 */
enum segment { SEGMENT_ID, SEGMENT_NAME };

static int
stands_as_it_is(unsigned char c, enum segment kind)
{
    return c > ' ' && c < 0x7F && c != '/' && (c != '%' || kind == SEGMENT_ID);
}

static void
append_text(swamp__key *key, const char *text)
{
    size_t used = strlen(key->text), len = strlen(text);
    assert(used + len < sizeof(key->text));
    memcpy(key->text + used, text, len + 1);
}

/* An empty segment would make the key of another, shorter path: it becomes "%", which no escape can be. */
static void
append_segment(swamp__key *key, const char *text, enum segment kind)
{
    static const char hex[] = "0123456789ABCDEF";
    char segment[SEGMENT_MAX + 1];
    size_t len = 0;

    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        size_t need = stands_as_it_is(c, kind) ? 1 : 3;
        if (len + need > SEGMENT_MAX)
            break;
        if (need == 1) {
            segment[len++] = (char)c;
        } else {
            segment[len++] = '%';
            segment[len++] = hex[c >> 4];
            segment[len++] = hex[c & 15];
        }
    }
    if (len == 0)
        segment[len++] = '%';
    segment[len] = 0;
    append_text(key, segment);
}

/* prefix first/ , or prefix first/second when there is a second one. */
static swamp__key
two_segments(const char *prefix, const char *first, enum segment kind, const char *second)
{
    swamp__key key;
    key.text[0] = 0;
    append_text(&key, prefix);
    append_segment(&key, first, kind);
    append_text(&key, "/");
    if (second)
        append_segment(&key, second, SEGMENT_ID);
    return key;
}

static swamp__key
one_segment(const char *prefix, const char *id)
{
    swamp__key key;
    key.text[0] = 0;
    append_text(&key, prefix);
    append_segment(&key, id, SEGMENT_ID);
    return key;
}

swamp__key
swamp__key_heartbeat(const char *instance_id)
{
    return one_segment(SWAMP__KEYS_HEARTBEATS, instance_id);
}

swamp__key
swamp__key_active_run(const char *run_id)
{
    return one_segment(SWAMP__KEYS_ACTIVE_RUNS, run_id);
}

swamp__key
swamp__key_instance_run(const char *instance_id, const char *run_id)
{
    return two_segments(SWAMP__KEYS_INSTANCE_RUNS, instance_id, SEGMENT_ID, run_id);
}

swamp__key
swamp__key_instance_runs(const char *instance_id)
{
    return two_segments(SWAMP__KEYS_INSTANCE_RUNS, instance_id, SEGMENT_ID, NULL);
}

swamp__key
swamp__key_run(const char *run_id)
{
    return one_segment(SWAMP__KEYS_RUNS, run_id);
}

swamp__key
swamp__key_workflow_run(const char *workflow_id, const char *run_id)
{
    return two_segments("workflow-runs/", workflow_id, SEGMENT_NAME, run_id);
}

swamp__key
swamp__key_workflow_runs(const char *workflow_id)
{
    return two_segments("workflow-runs/", workflow_id, SEGMENT_NAME, NULL);
}

swamp__key
swamp__key_name_run(const char *workflow_name, const char *run_id)
{
    return two_segments("workflow-names/", workflow_name, SEGMENT_NAME, run_id);
}

swamp__key
swamp__key_name_runs(const char *workflow_name)
{
    return two_segments("workflow-names/", workflow_name, SEGMENT_NAME, NULL);
}

swamp__key
swamp__key_cancel_request(const char *instance_id, const char *run_id)
{
    return two_segments("cancel-requests/", instance_id, SEGMENT_ID, run_id);
}

swamp__key
swamp__key_cancel_requests(const char *instance_id)
{
    return two_segments("cancel-requests/", instance_id, SEGMENT_ID, NULL);
}

const char *
swamp__key_last(const char *key)
{
    const char *slash = strrchr(key, '/');
    return slash ? slash + 1 : key;
}

int
swamp__key_middle(const char *key, char *out, size_t cap)
{
    const char *first = strchr(key, '/'), *last = strrchr(key, '/');
    if (!first || last <= first + 1 || memchr(first + 1, '/', (size_t)(last - first - 1)))
        return SWAMP_E_INVALID;

    size_t len = (size_t)(last - first - 1);
    if (len >= cap)
        return SWAMP_E_TOO_BIG;
    memcpy(out, first + 1, len);
    out[len] = 0;
    return SWAMP_OK;
}
