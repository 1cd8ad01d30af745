/* Lenient reading of objects that others wrote, by tables of members. */
#include "fields.h"

#include <assert.h>
#include <string.h>
#include <swamp/status.h>
#include "../util/utf8.h"

void
swamp__fields_cut(swamp__json string, char *out, size_t cap)
{
    assert(cap > 0);
    int rc = swamp__json_copy(string, out, cap);
    if (rc == SWAMP_OK)
        return;
    out[0] = 0;
    if (rc != SWAMP_E_TOO_BIG)
        return;

    swamp__buf text;
    swamp__buf_init(&text);
    /* Without memory the text stays empty: it is for people, and whoever reads a record can bear that. */
    if (swamp__json_decode(string, &text) == SWAMP_OK && !memchr(text.data, 0, text.len)) {
        size_t len = swamp__utf8_cut(text.data, text.len, cap - 1);
        memcpy(out, text.data, len);
        out[len] = 0;
    }
    swamp__buf_free(&text);
}

static void
read_field(const swamp__field *field, swamp__json value, char *place)
{
    int64_t number;

    switch (field->form) {
    case SWAMP__FIELD_ID:
        if (value.type == SWAMP__JSON_STRING && swamp__json_copy(value, place, field->cap) != SWAMP_OK)
            place[0] = 0;
        break;
    case SWAMP__FIELD_TEXT:
        if (value.type == SWAMP__JSON_STRING)
            swamp__fields_cut(value, place, field->cap);
        break;
    case SWAMP__FIELD_NUMBER:
        if (value.type == SWAMP__JSON_NUMBER && swamp__json_i64(value, &number) == SWAMP_OK)
            memcpy(place, &number, sizeof(number));
        break;
    case SWAMP__FIELD_FLAG: {
        int flag = value.type == SWAMP__JSON_TRUE;
        memcpy(place, &flag, sizeof(flag));
        break;
    }
    case SWAMP__FIELD_JSON:
        memcpy(place, &value, sizeof(value));
        break;
    default:
        assert(!"a form of fields.h");
    }
}

void
swamp__fields_read(swamp__json object, const swamp__field *fields, size_t count, void *out)
{
    swamp__json_iter iter;
    swamp__json key, value;

    if (object.type != SWAMP__JSON_OBJECT)
        return;
    swamp__json_enter(object, &iter);
    while (swamp__json_next_member(&iter, &key, &value)) {
        for (size_t i = 0; i < count; i++) {
            if (swamp__json_equals(key, fields[i].name)) {
                read_field(&fields[i], value, (char *)out + fields[i].offset);
                break;
            }
        }
    }
}
