/* The list of mistakes. */
#include <stdlib.h>
#include "faults.h"
#include "../memory.h"
#include "../text.h"

void
workflow_faults_add_line(workflow_faults *faults, char *line)
{
    faults->lines = memory_grow(faults->lines, faults->count + 1, sizeof(*faults->lines));
    faults->lines[faults->count++] = line;
}

void
workflow_faults_add(workflow_faults *faults, const char *file, int line, const char *format, ...)
{
    text words = {0};
    va_list args;
    if (faults->count > WORKFLOW_FAULTS_MAX)
        return;
    if (faults->count == WORKFLOW_FAULTS_MAX) {
        text_addf(&words, "%s: more mistakes are not shown", file);
        workflow_faults_add_line(faults, text_take(&words));
        return;
    }
    text_addf(&words, line ? "%s:%d: " : "%s: ", file, line);
    va_start(args, format);
    text_addv(&words, format, args);
    va_end(args);
    workflow_faults_add_line(faults, text_take(&words));
}

void
workflow_faults_copy(const workflow_faults *from, workflow_faults *to)
{
    for (size_t i = 0; i < from->count; i++)
        workflow_faults_add_line(to, memory_copy(from->lines[i]));
}

void
workflow_faults_move(workflow_faults *from, workflow_faults *to)
{
    for (size_t i = 0; i < from->count; i++)
        workflow_faults_add_line(to, from->lines[i]);
    free(from->lines);
    *from = (workflow_faults){0};
}

void
workflow_faults_free(workflow_faults *faults)
{
    for (size_t i = 0; i < faults->count; i++)
        free(faults->lines[i]);
    free(faults->lines);
    *faults = (workflow_faults){0};
}
