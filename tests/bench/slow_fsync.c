/* Preloaded into Postgres: each flush to disk takes longer by SLOW_FSYNC_US microseconds, as on a slower disk. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

static int later(const char *name, int file)
{
    int (*flush)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
    const char *delay = getenv("SLOW_FSYNC_US");
    if (delay != NULL)
        usleep((useconds_t)atoi(delay));
    return flush(file);
}

int fsync(int file)
{
    return later("fsync", file);
}

int fdatasync(int file)
{
    return later("fdatasync", file);
}
