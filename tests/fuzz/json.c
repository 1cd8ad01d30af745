/* Fuzzes the JSON checker, and every reader and writer over what it took. */
#include <stdlib.h>
#include <string.h>
#include <swamp/status.h>
#include "../../libswamp/wire/json.h"
#include "fuzz.h"

/* Decoded and written again, a string is the same text; a lone surrogate is no text. */
static void
read_string(swamp__json string)
{
    swamp__buf text, again, written;
    swamp__json checked;
    char copy[32];
    swamp__buf_init(&text);
    swamp__buf_init(&again);
    swamp__buf_init(&written);
    size_t characters = swamp__json_characters(string);
    if (swamp__json_decode(string, &text) == SWAMP_OK) {
        MUST(characters <= string.len - 2);
        swamp__json_put_string_n(&written, text.data ? text.data : "", text.len);
        MUST(swamp__json_check(written.data, written.len, 0, &checked) == SWAMP_OK);
        MUST(checked.type == SWAMP__JSON_STRING && swamp__json_characters(checked) == characters);
        MUST(swamp__json_decode(checked, &again) == SWAMP_OK);
        MUST(again.len == text.len && (text.len == 0 || memcmp(again.data, text.data, text.len) == 0));
    }
    if (swamp__json_copy(string, copy, sizeof copy) == SWAMP_OK) {
        MUST(strlen(copy) < sizeof copy);
        MUST(swamp__json_equals(string, copy));
    }
    swamp__buf_free(&text);
    swamp__buf_free(&again);
    swamp__buf_free(&written);
}

static void
read_number(swamp__json number)
{
    uint64_t natural;
    int64_t whole;
    if (swamp__json_u53(number, &natural) == SWAMP_OK) {
        MUST(natural <= 9007199254740991u);
        MUST(swamp__json_i64(number, &whole) == SWAMP_OK && (uint64_t)whole == natural);
    }
    (void)swamp__json_i64(number, &whole);
}

/* Parts lie inside of what holds them; depth as deep as the grammar lets a hostile text be. */
static void
walk(swamp__json value, unsigned depth)
{
    swamp__json_iter iter;
    swamp__json key, part, found;
    MUST(value.len > 0);
    if (value.type == SWAMP__JSON_STRING)
        read_string(value);
    else if (value.type == SWAMP__JSON_NUMBER)
        read_number(value);
    if (depth > 200)
        return;
    swamp__json_enter(value, &iter);
    if (value.type == SWAMP__JSON_ARRAY)
        while (swamp__json_next_element(&iter, &part)) {
            MUST(part.at > value.at && part.at + part.len < value.at + value.len);
            walk(part, depth + 1);
        }
    else if (value.type == SWAMP__JSON_OBJECT)
        while (swamp__json_next_member(&iter, &key, &part)) {
            char name[32];
            MUST(key.type == SWAMP__JSON_STRING && key.at > value.at);
            MUST(part.at > key.at && part.at + part.len < value.at + value.len);
            read_string(key);
            if (swamp__json_copy(key, name, sizeof name) == SWAMP_OK)
                MUST(swamp__json_find(value, name, &found));
            walk(part, depth + 1);
        }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    swamp__json strict, lenient, part;
    const char *text = (const char *)data;
    memset(&strict, 0, sizeof strict);
    int rc_strict = swamp__json_check(text, size, SWAMP__JSON_STRICT, &strict);
    int rc = swamp__json_check(text, size, 0, &lenient);
    MUST(rc == SWAMP_OK || rc == SWAMP_E_JSON);
    MUST((rc_strict == SWAMP_E_JSON) == (rc == SWAMP_E_JSON)); /* the grammar is the same for both */
    if (rc != SWAMP_OK)
        return 0;
    walk(lenient, 0);
    MUST(swamp__json_check(lenient.at, lenient.len, 0, &part) == SWAMP_OK);
    MUST(part.len == lenient.len && part.type == lenient.type);
    if (rc_strict == SWAMP_OK)
        MUST(strict.at == lenient.at && strict.len == lenient.len);
    return 0;
}
