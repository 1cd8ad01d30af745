/* A directory, cached file by file. */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include "catalog.h"
#include "load.h"
#include "../memory.h"

/* One file, as it was when it was last read. */
typedef struct entry {
    char *path;
    struct timespec changed;
    off_t size;
    ino_t inode;
    workflow *flow;         /* NULL: it has mistakes */
    char *broken_name;      /* its name then, where one could be read */
    workflow_faults faults; /* of its text */
    int twin;               /* its name or id is that of an earlier file; it is not used */
    int seen;               /* in this look at the directory */
} entry;

struct workflow_catalog {
    char *dir;
    swamp_log_fn log;
    void *log_user;
    pthread_mutex_t lock; /* for all below */
    entry *entries;       /* by path */
    size_t count;
    int dir_error; /* errno of the last look; 0: fine */
};

workflow_catalog *
workflow_catalog_new(const char *dir, swamp_log_fn log, void *log_user)
{
    workflow_catalog *catalog = memory_new(1, sizeof(*catalog));
    catalog->dir = memory_copy(dir);
    catalog->log = log;
    catalog->log_user = log_user;
    pthread_mutex_init(&catalog->lock, NULL);
    return catalog;
}

static void
forget_contents(entry *one)
{
    workflow_unref(one->flow);
    one->flow = NULL;
    free(one->broken_name);
    one->broken_name = NULL;
    workflow_faults_free(&one->faults);
}

void
workflow_catalog_free(workflow_catalog *catalog)
{
    if (!catalog)
        return;
    for (size_t i = 0; i < catalog->count; i++) {
        forget_contents(&catalog->entries[i]);
        free(catalog->entries[i].path);
    }
    free(catalog->entries);
    free(catalog->dir);
    pthread_mutex_destroy(&catalog->lock);
    free(catalog);
}

static void
warn(const workflow_catalog *catalog, const char *line)
{
    if (catalog->log)
        catalog->log(SWAMP_LOG_WARN, line, catalog->log_user);
}

static void
read_entry(const workflow_catalog *catalog, entry *one, const struct stat *info)
{
    forget_contents(one);
    one->changed = info->st_mtim;
    one->size = info->st_size;
    one->inode = info->st_ino;
    one->twin = 0;
    one->flow = workflow_load_named(one->path, &one->faults, &one->broken_name);
    for (size_t i = 0; i < one->faults.count; i++)
        warn(catalog, one->faults.lines[i]);
}

static entry *
find_entry(workflow_catalog *catalog, const char *path)
{
    for (size_t i = 0; i < catalog->count; i++)
        if (strcmp(catalog->entries[i].path, path) == 0)
            return &catalog->entries[i];
    catalog->entries = memory_grow(catalog->entries, catalog->count + 1, sizeof(entry));
    entry *one = &catalog->entries[catalog->count++];
    *one = (entry){.path = memory_copy(path), .size = -1};
    return one;
}

static void
look_at_file(workflow_catalog *catalog, const char *name)
{
    text path = {0};
    struct stat info;
    if (name[0] == '.' || !workflow_is_file_name(name)) /* editors keep their own files here */
        return;
    text_addf(&path, "%s/%s", catalog->dir, name);
    if (stat(path.bytes, &info) == 0 && S_ISREG(info.st_mode)) {
        entry *one = find_entry(catalog, path.bytes);
        one->seen = 1;
        if (one->size != info.st_size || one->inode != info.st_ino ||
            one->changed.tv_sec != info.st_mtim.tv_sec || one->changed.tv_nsec != info.st_mtim.tv_nsec)
            read_entry(catalog, one, &info);
    }
    text_free(&path);
}

static int
by_path(const void *a, const void *b)
{
    return strcmp(((const entry *)a)->path, ((const entry *)b)->path);
}

static void
drop_unseen(workflow_catalog *catalog)
{
    size_t kept = 0;
    for (size_t i = 0; i < catalog->count; i++) {
        entry *one = &catalog->entries[i];
        if (one->seen) {
            catalog->entries[kept++] = *one;
            continue;
        }
        forget_contents(one);
        free(one->path);
    }
    catalog->count = kept;
    if (kept > 0)
        qsort(catalog->entries, kept, sizeof(entry), by_path);
}

static const entry *
find_twin(const workflow_catalog *catalog, size_t index)
{
    const workflow *flow = catalog->entries[index].flow;
    for (size_t i = 0; i < index && flow; i++) {
        const workflow *other = catalog->entries[i].flow;
        if (other && !catalog->entries[i].twin &&
            (strcmp(flow->name, other->name) == 0 || strcmp(flow->id, other->id) == 0))
            return &catalog->entries[i];
    }
    return NULL;
}

static char *
describe_twin(const entry *one, const entry *first)
{
    text line = {0};
    text_addf(&line, "%s: its %s is that of %s already; it cannot be run", one->path,
              strcmp(one->flow->id, first->flow->id) == 0 ? "id" : "name", first->path);
    return text_take(&line);
}

/* The first of two files with one name is used, whichever was there first in time. */
static void
mark_twins(workflow_catalog *catalog)
{
    for (size_t i = 0; i < catalog->count; i++) {
        entry *one = &catalog->entries[i];
        const entry *first = find_twin(catalog, i);
        if (first && !one->twin) {
            char *line = describe_twin(one, first);
            warn(catalog, line);
            free(line);
        }
        one->twin = first != NULL;
    }
}

static void
look(workflow_catalog *catalog)
{
    DIR *dir = opendir(catalog->dir);
    int error = dir ? 0 : errno;
    if (error && error != catalog->dir_error) {
        text line = {0};
        text_addf(&line, "%s: the directory of workflows cannot be read: %s", catalog->dir, strerror(error));
        warn(catalog, line.bytes);
        text_free(&line);
    }
    catalog->dir_error = error;
    for (size_t i = 0; i < catalog->count; i++)
        catalog->entries[i].seen = 0;
    for (struct dirent *one; dir && (one = readdir(dir));)
        look_at_file(catalog, one->d_name);
    if (dir)
        closedir(dir);
    drop_unseen(catalog);
    mark_twins(catalog);
}

static int
can_be_run(const entry *one)
{
    return one->flow && !one->twin;
}

workflow *
workflow_catalog_find(workflow_catalog *catalog, const char *id_or_name)
{
    workflow *found = NULL;
    pthread_mutex_lock(&catalog->lock);
    look(catalog);
    for (int by_name = 0; by_name < 2 && !found; by_name++)
        for (size_t i = 0; i < catalog->count && !found; i++) {
            entry *one = &catalog->entries[i];
            if (can_be_run(one) && strcmp(by_name ? one->flow->name : one->flow->id, id_or_name) == 0)
                found = workflow_ref(one->flow);
        }
    pthread_mutex_unlock(&catalog->lock);
    return found;
}

static int
matches(const workflow *flow, const char *query)
{
    return !query || !*query || strcasestr(flow->id, query) || strcasestr(flow->name, query) ||
           (flow->description && strcasestr(flow->description, query));
}

static void
write_result(const workflow *flow, text *out)
{
    text_add(out, "{\"id\":");
    text_add_json(out, flow->id);
    text_add(out, ",\"name\":");
    text_add_json(out, flow->name);
    if (flow->description) {
        text_add(out, ",\"description\":");
        text_add_json(out, flow->description);
    }
    text_addf(out, ",\"jobCount\":%zu,\"hasInputs\":%s}", flow->job_count,
              flow->input_count ? "true" : "false");
}

void
workflow_catalog_search(workflow_catalog *catalog, const char *query, text *out)
{
    const char *between = "";
    pthread_mutex_lock(&catalog->lock);
    look(catalog);
    text_add(out, "[");
    for (size_t i = 0; i < catalog->count; i++)
        if (can_be_run(&catalog->entries[i]) && matches(catalog->entries[i].flow, query)) {
            text_add(out, between);
            write_result(catalog->entries[i].flow, out);
            between = ",";
        }
    text_add(out, "]");
    pthread_mutex_unlock(&catalog->lock);
}

size_t
workflow_catalog_count(workflow_catalog *catalog)
{
    size_t count = 0;
    pthread_mutex_lock(&catalog->lock);
    look(catalog);
    for (size_t i = 0; i < catalog->count; i++)
        count += can_be_run(&catalog->entries[i]);
    pthread_mutex_unlock(&catalog->lock);
    return count;
}

size_t
workflow_catalog_check(workflow_catalog *catalog, workflow_faults *out)
{
    pthread_mutex_lock(&catalog->lock);
    look(catalog);
    if (catalog->dir_error)
        workflow_faults_add(out, catalog->dir, 0, "cannot be read: %s", strerror(catalog->dir_error));
    for (size_t i = 0; i < catalog->count; i++) {
        const entry *one = &catalog->entries[i];
        workflow_faults_copy(&one->faults, out);
        if (one->twin) {
            char *line = describe_twin(one, find_twin(catalog, i));
            workflow_faults_add_line(out, line);
        }
    }
    size_t count = catalog->count;
    pthread_mutex_unlock(&catalog->lock);
    return count;
}

/* A file that cannot be read as YAML gives itself no name: its own name without the ending stands for it. */
static int
is_called(const entry *one, const char *file, const char *name)
{
    if (one->broken_name)
        return strcmp(one->broken_name, name) == 0;
    size_t len = strlen(name);
    return strncmp(file, name, len) == 0 && file[len] == '.' && !strchr(file + len + 1, '.');
}

char *
workflow_catalog_mistake(workflow_catalog *catalog, const char *name)
{
    char *found = NULL;
    size_t skip = strlen(catalog->dir) + 1; /* who is told need not know where the folder is */
    pthread_mutex_lock(&catalog->lock);
    for (size_t i = 0; i < catalog->count && !found; i++) {
        const entry *one = &catalog->entries[i];
        if (one->faults.count > 0 && is_called(one, one->path + skip, name))
            found = memory_copy(one->faults.lines[0] + skip);
    }
    pthread_mutex_unlock(&catalog->lock);
    return found;
}

size_t
workflow_catalog_broken(workflow_catalog *catalog)
{
    size_t broken = 0;
    pthread_mutex_lock(&catalog->lock);
    for (size_t i = 0; i < catalog->count; i++)
        broken += !can_be_run(&catalog->entries[i]);
    pthread_mutex_unlock(&catalog->lock);
    return broken;
}
