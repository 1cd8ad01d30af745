/* Lists that are longer than one page. */
#include "pages.h"

#include <stdio.h>
#include <swamp/status.h>

struct page {
    swamp_store_sink sink;
    void *user;
    size_t count;
    int ended; /* the sink has seen enough */
    char last[SWAMP_STORE_KEY_MAX + 1];
};

static int
take_record(void *user, const char *key, const void *value, size_t value_len, uint64_t revision)
{
    struct page *page = user;
    page->count++;
    snprintf(page->last, sizeof page->last, "%s", key);
    page->ended = page->sink(page->user, key, value, value_len, revision);
    return page->ended;
}

int
swamp__pages_each(swamp_store *store, const char *prefix, const char *after, unsigned flags, int timeout_ms,
                  swamp_store_sink sink, void *user)
{
    struct page page = {.sink = sink, .user = user};
    char start[SWAMP_STORE_KEY_MAX + 1];
    snprintf(start, sizeof start, "%s", after ? after : "");
    do {
        page.count = 0;
        int rc = swamp_store_list(store, prefix, *start ? start : NULL, SWAMP__PAGE, flags, timeout_ms,
                                  take_record, &page);
        if (rc != SWAMP_OK)
            return rc;
        snprintf(start, sizeof start, "%s", page.last);
    } while (page.count == SWAMP__PAGE && !page.ended);
    return SWAMP_OK;
}
