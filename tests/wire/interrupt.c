/* Loaded before the C library: ends the first call of each of these functions as a
 * signal would, and writes their names to the file that INTERRUPTED names. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

static int interrupts(int *calls, const char *name) {
    if ((*calls)++ > 0) {
        return 0;
    }
    FILE *told = fopen(getenv("INTERRUPTED"), "a");
    fprintf(told, "%s\n", name);
    fclose(told);
    errno = EINTR;
    return 1;
}

/* Only calls of which `is_ours` holds: the runtime makes some, too. */
#define FIRST_OURS_INTERRUPTED(result, name, parameters, arguments, is_ours)   \
    result name parameters {                                                   \
        static int calls;                                                      \
        if ((is_ours) && interrupts(&calls, #name)) {                          \
            return -1;                                                         \
        }                                                                      \
        result(*next) parameters =                                             \
            (result(*) parameters)dlsym(RTLD_NEXT, #name);                     \
        return next arguments;                                                 \
    }

#define FIRST_INTERRUPTED(result, name, parameters, arguments)                 \
    FIRST_OURS_INTERRUPTED(result, name, parameters, arguments, 1)

FIRST_OURS_INTERRUPTED(int, openat,
                       (int folder, const char *path, int flags, mode_t mode),
                       (folder, path, flags, mode),
                       strstr(path, "interrupted") != NULL)
FIRST_INTERRUPTED(int, fsync, (int file), (file))
FIRST_INTERRUPTED(int, ftruncate, (int file, off_t length), (file, length))
FIRST_INTERRUPTED(ssize_t, pread, (int file, void *room, size_t length, off_t start),
                  (file, room, length, start))
FIRST_INTERRUPTED(ssize_t, sendfile64,
                  (int socket, int file, off64_t *start, size_t length),
                  (socket, file, start, length))
FIRST_INTERRUPTED(ssize_t, sendmsg,
                  (int socket, const struct msghdr *message, int flags),
                  (socket, message, flags))
FIRST_INTERRUPTED(ssize_t, recvmsg,
                  (int socket, struct msghdr *message, int flags),
                  (socket, message, flags))
FIRST_INTERRUPTED(ssize_t, pwritev2,
                  (int file, const struct iovec *pieces, int count, off_t start,
                   int flags),
                  (file, pieces, count, start, flags))
FIRST_OURS_INTERRUPTED(int, poll,
                       (struct pollfd *entries, nfds_t count, int time_ms),
                       (entries, count, time_ms), count == 1 && entries->fd < 0)

ssize_t write(int file, const void *octets, size_t length) {
    static int calls;
    /* What `fprintf` and `print` write is not the library's. */
    if (file == 2 && interrupts(&calls, "write")) {
        return -1;
    }
    ssize_t (*next)(int, const void *, size_t) =
        (ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
    return next(file, octets, length);
}
