/* A thread that may block on the store: takes questions from the core, answers them on the loop's thread. */
#include <swamp/status.h>
#include "asker.h"
#include "../store/store.h"
#include "../util/clock.h"
#include "../wire/limits.h"

static void
give_answer(swamp__asker_thread *asker, swamp__question *question)
{
    pthread_mutex_lock(&asker->lock);
    swamp__list_push(&asker->answered, &question->link);
    pthread_mutex_unlock(&asker->lock);
    swamp__loop_wake(asker->loop);
}

static void
take_question(void *self, swamp__question *question)
{
    swamp__asker_thread *asker = self;
    int rc = swamp__queue_push(&asker->waiting, &question->link);
    if (rc != SWAMP_OK) {
        question->status = rc;
        give_answer(asker, question);
    }
}

static void *
answer_questions(void *self)
{
    swamp__asker_thread *asker = self;
    for (;;) {
        swamp__link *link = swamp__queue_pop(&asker->waiting, -1);
        if (!link)
            return NULL; /* closed and empty */
        swamp__question *question = SWAMP__OF(link, swamp__question, link);
        if (swamp__queue_closed(&asker->waiting))
            question->status = SWAMP_E_CLOSED;
        else if (swamp__clock_monotonic_ms() > question->deadline_ms)
            question->status = SWAMP_E_TIMEOUT; /* DESIGN 5: whoever asked has long been answered otherwise */
        else
            question->work(question, asker->store);
        give_answer(asker, question);
    }
}

int
swamp__asker_init(swamp__asker_thread *asker, swamp_store *store, swamp__loop *loop, int timeout_ms)
{
    int rc = swamp__queue_init(&asker->waiting, SWAMP__STORE_QUEUE_MAX);
    if (rc != SWAMP_OK)
        return rc;
    asker->asker.ask = take_question;
    asker->asker.self = asker;
    asker->asker.timeout_ms = store ? timeout_ms : 0;
    asker->asker.unreadable = store ? swamp__store_unreadable(store) : NULL;
    asker->store = store;
    asker->loop = loop;
    asker->running = 0;
    pthread_mutex_init(&asker->lock, NULL);
    swamp__list_init(&asker->answered);
    return SWAMP_OK;
}

int
swamp__asker_start(swamp__asker_thread *asker)
{
    if (!asker->store)
        return SWAMP_OK;
    if (pthread_create(&asker->thread, NULL, answer_questions, asker) != 0)
        return SWAMP_E_IO;
    asker->running = 1;
    return SWAMP_OK;
}

size_t
swamp__asker_collect(swamp__asker_thread *asker)
{
    size_t count = 0;
    for (;; count++) {
        pthread_mutex_lock(&asker->lock);
        swamp__link *link = swamp__list_pop(&asker->answered);
        pthread_mutex_unlock(&asker->lock);
        if (!link)
            return count;
        swamp__question *question = SWAMP__OF(link, swamp__question, link);
        question->done(question);
    }
}

void
swamp__asker_close(swamp__asker_thread *asker)
{
    swamp__queue_close(&asker->waiting);
    if (asker->running)
        pthread_join(asker->thread, NULL);
    asker->running = 0;
}

void
swamp__asker_destroy(swamp__asker_thread *asker)
{
    swamp__queue_destroy(&asker->waiting);
    pthread_mutex_destroy(&asker->lock);
}
