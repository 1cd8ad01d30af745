/* A small set of hashes, so that a record which is read at each tick is told once. */
#include "unreadable.h"

#include <string.h>

void
swamp__unreadable_init(swamp__unreadable *records)
{
    memset(records, 0, sizeof *records);
    pthread_mutex_init(&records->lock, NULL);
}

void
swamp__unreadable_destroy(swamp__unreadable *records)
{
    pthread_mutex_destroy(&records->lock);
}

void
swamp__unreadable_set_log(swamp__unreadable *records, const swamp__log *log)
{
    pthread_mutex_lock(&records->lock);
    records->log = log;
    pthread_mutex_unlock(&records->lock);
}

void
swamp__unreadable_unset_log(swamp__unreadable *records, const swamp__log *log)
{
    pthread_mutex_lock(&records->lock);
    if (records->log == log)
        records->log = NULL;
    pthread_mutex_unlock(&records->lock);
}

/* FNV-1a over the key and the revision. Two records with one hash would be told as one: that harms nobody. */
static uint64_t
hash_record(const char *key, uint64_t revision)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (; *key; key++)
        hash = (hash ^ (unsigned char)*key) * UINT64_C(1099511628211);
    for (int i = 0; i < 8; i++, revision >>= 8)
        hash = (hash ^ (revision & 0xff)) * UINT64_C(1099511628211);
    return hash ? hash : 1;
}

/* 1: it is a new one. The table is never more than half full, so that the walk ends. */
static int
remember(swamp__unreadable *records, uint64_t hash)
{
    size_t places = sizeof records->seen / sizeof records->seen[0], at = hash % places;
    for (; records->seen[at]; at = (at + 1) % places)
        if (records->seen[at] == hash)
            return 0;
    if (records->count == SWAMP__UNREADABLE_MAX)
        return 0;
    records->seen[at] = hash;
    records->count++;
    return 1;
}

void
swamp__unreadable_note(swamp__unreadable *records, const char *key, uint64_t revision)
{
    static const swamp__log silent;
    pthread_mutex_lock(&records->lock);
    /* the lock is held while the line is written: a server that is freed waits for it in unset_log */
    const swamp__log *log = records->log ? records->log : &silent;
    if (remember(records, hash_record(key, revision)))
        swamp__log_write(
            log, SWAMP_LOG_WARN,
            "the record %s cannot be read and is not used: was it written by hand, or by another "
            "version?%s",
            key, records->count == SWAMP__UNREADABLE_MAX ? " There are more, which are not named" : "");
    pthread_mutex_unlock(&records->lock);
}

uint64_t
swamp__unreadable_count(swamp__unreadable *records)
{
    pthread_mutex_lock(&records->lock);
    uint64_t count = records->count;
    pthread_mutex_unlock(&records->lock);
    return count;
}
