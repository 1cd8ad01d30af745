/* The last error text of a handle, for any thread. */
#include "error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "utf8.h"

void
swamp__error_init(swamp__error *error)
{
    pthread_mutex_init(&error->lock, NULL); /* with default attributes it cannot fail on Linux */
    error->text[0] = '\0';
}

void
swamp__error_destroy(swamp__error *error)
{
    pthread_mutex_destroy(&error->lock);
}

int
swamp__error_set(swamp__error *error, int status, const char *format, ...)
{
    char text[SWAMP__ERROR_SIZE + 8];
    va_list args;

    va_start(args, format);
    if (vsnprintf(text, sizeof(text), format, args) < 0)
        text[0] = '\0';
    va_end(args);
    text[swamp__utf8_cut(text, strlen(text), SWAMP__ERROR_SIZE - 1)] = '\0';
    swamp__utf8_clean_line(text);

    pthread_mutex_lock(&error->lock);
    if (!error->text[0]) /* the lower layer, which spoke first, knows more */
        memcpy(error->text, text, strlen(text) + 1);
    pthread_mutex_unlock(&error->lock);
    return status;
}

void
swamp__error_clear(swamp__error *error)
{
    pthread_mutex_lock(&error->lock);
    error->text[0] = '\0';
    pthread_mutex_unlock(&error->lock);
}

void
swamp__error_get(swamp__error *error, char *buf, size_t cap)
{
    size_t len;

    if (!cap)
        return;
    pthread_mutex_lock(&error->lock);
    len = swamp__utf8_cut(error->text, strlen(error->text), cap - 1);
    memcpy(buf, error->text, len);
    pthread_mutex_unlock(&error->lock);
    buf[len] = '\0';
}
