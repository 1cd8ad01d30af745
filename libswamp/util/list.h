/* A doubly linked list threaded through its members. */
#ifndef SWAMP_UTIL_LIST_H
#define SWAMP_UTIL_LIST_H

#include <stddef.h>

typedef struct swamp__link {
    struct swamp__link *prev, *next; /* both NULL: in no list */
} swamp__link;

typedef struct swamp__list {
    swamp__link head; /* a ring */
} swamp__list;

/* The struct that holds the link. */
#define SWAMP__OF(link_pointer, type, member)                                                                \
    ((type *)(void *)((char *)(link_pointer)-offsetof(type, member)))

static inline void
swamp__list_init(swamp__list *list)
{
    list->head.prev = list->head.next = &list->head;
}

static inline int
swamp__list_empty(const swamp__list *list)
{
    return list->head.next == &list->head;
}

static inline int
swamp__link_linked(const swamp__link *link)
{
    return link->next != NULL;
}

static inline void
swamp__list_push(swamp__list *list, swamp__link *link) /* at the end */
{
    link->prev = list->head.prev;
    link->next = &list->head;
    list->head.prev->next = link;
    list->head.prev = link;
}

static inline void
swamp__list_push_front(swamp__list *list, swamp__link *link)
{
    link->next = list->head.next;
    link->prev = &list->head;
    list->head.next->prev = link;
    list->head.next = link;
}

static inline void
swamp__link_remove(swamp__link *link) /* no effect in no list */
{
    if (!link->next)
        return;
    link->prev->next = link->next;
    link->next->prev = link->prev;
    link->prev = link->next = NULL;
}

static inline swamp__link *
swamp__list_first(swamp__list *list) /* NULL: empty */
{
    return swamp__list_empty(list) ? NULL : list->head.next;
}

static inline swamp__link *
swamp__list_next(swamp__list *list, swamp__link *link) /* NULL: it was the last */
{
    return link->next == &list->head ? NULL : link->next;
}

static inline swamp__link *
swamp__list_pop(swamp__list *list) /* the first; NULL: empty */
{
    swamp__link *link = swamp__list_first(list);
    if (link)
        swamp__link_remove(link);
    return link;
}

#endif
