/* Loaded before the C library: to the programs below PIECES_BELOW, streams give and
 * take now and then a few octets at a time, or nothing yet, as on a slow network whose
 * other side is as quick as this one. The rest of what is there is announced again, as
 * the system does when more has come. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum { DESCRIPTOR_COUNT = 65536, IOV_COUNT = 64 };
enum { UNKNOWN, STREAM, OTHER };

static struct {
    int selector; /* plus one; 0 for none */
    struct epoll_event event;
    char kind;
    char has_been_seen; /* what comes, by a peek: it can be had at once */
} known[DESCRIPTOR_COUNT];

#define NEXT(name)                                                             \
    static __typeof__(name) *next;                                             \
    if (!next) next = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

static int is_watched(void) {
    static int is_known, result;
    if (!is_known) {
        char path[4096];
        const char *below = getenv("PIECES_BELOW");
        ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
        path[length > 0 ? length : 0] = 0;
        result = below && strncmp(path, below, strlen(below)) == 0;
        is_known = 1;
    }
    return result;
}

static unsigned draw(void) {
    static __thread unsigned state;
    if (!state) state = (unsigned)gettid() * 2654435761u | 1;
    state = state * 1103515245u + 12345u;
    return state >> 16;
}

static int is_stream(int fd) {
    if (!is_watched() || fd < 0 || fd >= DESCRIPTOR_COUNT) return 0;
    if (known[fd].kind == UNKNOWN) {
        int number = errno, type = 0;
        socklen_t length = sizeof type;
        int is = getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) == 0 &&
                 type == SOCK_STREAM;
        known[fd].kind = is ? STREAM : OTHER;
        errno = number;
    }
    return known[fd].kind == STREAM;
}

/* Has the selector look again: there is more. */
static void announce(int fd) {
    static int (*control)(int, int, int, struct epoll_event *);
    if (!known[fd].selector) return;
    if (!control)
        control = (int (*)(int, int, int, struct epoll_event *))dlsym(RTLD_NEXT,
                                                                      "epoll_ctl");
    int number = errno;
    struct epoll_event event = known[fd].event;
    control(known[fd].selector - 1, EPOLL_CTL_MOD, fd, &event);
    errno = number;
}

/* Nothing yet: one call in 24 that would not wait. */
static int is_early(int fd, int flags) {
    if (draw() % 24) return 0;
    int number = errno;
    int never_waits = flags & MSG_DONTWAIT || fcntl(fd, F_GETFL) & O_NONBLOCK;
    errno = never_waits ? EAGAIN : number;
    if (never_waits) announce(fd);
    return never_waits;
}

/* A quarter of all calls are cut, most of them to a few octets. */
static size_t cut(size_t length) {
    if (draw() % 4) return length;
    size_t most = 1 + draw() % (draw() % 3 ? 24 : 700);
    return most < length ? most : length;
}

static ssize_t told(int fd, ssize_t count, size_t wanted, size_t cut_to) {
    if (cut_to < wanted && count == (ssize_t)cut_to) announce(fd);
    return count;
}

#define IN_PIECES(result, name, parameters, whole, flags, cut_call)            \
    result name parameters {                                                   \
        NEXT(name);                                                            \
        if (!is_stream(fd)) return next whole;                                 \
        if (is_early(fd, flags)) return -1;                                    \
        size_t most = cut(length);                                             \
        return told(fd, next cut_call, length, most);                          \
    }

ssize_t recv(int fd, void *room, size_t length, int flags) {
    NEXT(recv);
    if (!is_stream(fd)) return next(fd, room, length, flags);
    int was_seen = known[fd].has_been_seen;
    if (!was_seen && is_early(fd, flags)) return -1;
    size_t most = was_seen ? length : cut(length);
    ssize_t count = next(fd, room, most, flags);
    known[fd].has_been_seen = count > 0 && flags & MSG_PEEK;
    return told(fd, count, length, most);
}

IN_PIECES(ssize_t, read, (int fd, void *room, size_t length), (fd, room, length), 0,
          (fd, room, most))
IN_PIECES(ssize_t, send, (int fd, const void *octets, size_t length, int flags),
          (fd, octets, length, flags), flags, (fd, octets, most, flags))
IN_PIECES(ssize_t, write, (int fd, const void *octets, size_t length),
          (fd, octets, length), 0, (fd, octets, most))
IN_PIECES(ssize_t, sendfile, (int fd, int file, off_t *start, size_t length),
          (fd, file, start, length), 0, (fd, file, start, most))
IN_PIECES(ssize_t, sendfile64, (int fd, int file, off64_t *start, size_t length),
          (fd, file, start, length), 0, (fd, file, start, most))

ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
    NEXT(sendmsg);
    if (!is_stream(fd) || message->msg_iovlen > IOV_COUNT)
        return next(fd, message, flags);
    if (is_early(fd, flags)) return -1;
    size_t length = 0, count = 0;
    for (size_t i = 0; i < message->msg_iovlen; i++)
        length += message->msg_iov[i].iov_len;
    size_t most = cut(length), left = most;
    struct iovec pieces[IOV_COUNT];
    struct msghdr part = *message;
    for (; count < message->msg_iovlen && (left || !count); count++) {
        pieces[count] = message->msg_iov[count];
        if (pieces[count].iov_len > left) pieces[count].iov_len = left;
        left -= pieces[count].iov_len;
    }
    part.msg_iov = pieces;
    part.msg_iovlen = count;
    return told(fd, next(fd, &part, flags), length, most);
}

/* One event at a time, now and then. */
int epoll_wait(int selector, struct epoll_event *events, int count, int wait_ms) {
    NEXT(epoll_wait);
    if (is_watched() && count > 1 && draw() % 8 == 0) count = 1;
    return next(selector, events, count, wait_ms);
}

int epoll_ctl(int selector, int operation, int fd, struct epoll_event *event) {
    NEXT(epoll_ctl);
    int result = next(selector, operation, fd, event);
    if (result == 0 && fd >= 0 && fd < DESCRIPTOR_COUNT) {
        known[fd].selector = operation == EPOLL_CTL_DEL ? 0 : selector + 1;
        if (operation != EPOLL_CTL_DEL) known[fd].event = *event;
    }
    return result;
}

static int made(int fd) {
    if (fd >= 0 && fd < DESCRIPTOR_COUNT) {
        known[fd].selector = 0;
        known[fd].kind = UNKNOWN;
        known[fd].has_been_seen = 0;
    }
    return fd;
}

int close(int fd) {
    NEXT(close);
    made(fd);
    return next(fd);
}

int socket(int domain, int type, int protocol) {
    NEXT(socket);
    return made(next(domain, type, protocol));
}

int accept4(int fd, struct sockaddr *address, socklen_t *length, int flags) {
    NEXT(accept4);
    return made(next(fd, address, length, flags));
}
