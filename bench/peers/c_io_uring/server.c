/* The limit of the machine by way of io_uring: one thread, one ring, system
   calls alone (no liburing), nothing parsed. A connection receives or sends,
   never both.
   Usage: server PORT; BENCH_HOST is the address, by default loopback. */
#define _GNU_SOURCE
#include "../answers.h"
#include <errno.h>
#include <linux/io_uring.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { ENTRIES = 4096, ROOM = 20480, OUT = 16384, FDS = 16384 };
enum { ACCEPT, RECEIVE, SEND };

static struct connection {
    struct rest rest;
    struct msghdr message;
    struct iovec parts[2];
    char room[ROOM + 1], out[OUT];
} *connections[FDS];

static struct {
    int fd;
    unsigned *head, *tail, *mask, *array, waiting;      /* submissions */
    struct io_uring_sqe *entries;
    unsigned *done_head, *done_tail, *done_mask;        /* completions */
    struct io_uring_cqe *done;
} ring;

static void open_ring(void) {
    struct io_uring_params about = {.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN};
    ring.fd = (int)syscall(SYS_io_uring_setup, ENTRIES, &about);
    if (ring.fd < 0) { perror("io_uring_setup"); exit(1); }
    size_t in = about.sq_off.array + about.sq_entries * sizeof(unsigned);
    size_t back = about.cq_off.cqes + about.cq_entries * sizeof(struct io_uring_cqe);
    size_t whole = in > back ? in : back;               /* one mapping holds both */
    char *base = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
                      ring.fd, IORING_OFF_SQ_RING);
    ring.entries = mmap(NULL, about.sq_entries * sizeof *ring.entries, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_POPULATE, ring.fd, IORING_OFF_SQES);
    if (base == MAP_FAILED || ring.entries == MAP_FAILED) { perror("mmap"); exit(1); }
    ring.head = (unsigned *)(base + about.sq_off.head);
    ring.tail = (unsigned *)(base + about.sq_off.tail);
    ring.mask = (unsigned *)(base + about.sq_off.ring_mask);
    ring.array = (unsigned *)(base + about.sq_off.array);
    ring.done_head = (unsigned *)(base + about.cq_off.head);
    ring.done_tail = (unsigned *)(base + about.cq_off.tail);
    ring.done_mask = (unsigned *)(base + about.cq_off.ring_mask);
    ring.done = (struct io_uring_cqe *)(base + about.cq_off.cqes);
}

static void enter(unsigned wanted) {
    int taken = (int)syscall(SYS_io_uring_enter, ring.fd, ring.waiting, wanted,
                             IORING_ENTER_GETEVENTS, NULL, 0);
    if (taken > 0) ring.waiting -= (unsigned)taken;
    else if (taken < 0 && errno != EINTR && errno != EBUSY) { perror("io_uring_enter"); exit(1); }
}

/* Gives an empty submission; the kernel sees it with the next `enter`. */
static struct io_uring_sqe *submission(int kind, int fd, unsigned char operation) {
    while (ring.waiting >= ENTRIES) enter(0);
    unsigned at = *ring.tail & *ring.mask;
    struct io_uring_sqe *entry = &ring.entries[at];
    memset(entry, 0, sizeof *entry);
    entry->opcode = operation;
    entry->fd = fd;
    entry->user_data = (uint64_t)kind << 32 | (uint32_t)fd;
    ring.array[at] = at;
    __atomic_store_n(ring.tail, *ring.tail + 1, __ATOMIC_RELEASE);
    ring.waiting++;
    return entry;
}

static void accept_many(int listener) {
    struct io_uring_sqe *entry = submission(ACCEPT, listener, IORING_OP_ACCEPT);
    entry->ioprio = IORING_ACCEPT_MULTISHOT;
}

static void receive(int fd) {
    struct io_uring_sqe *entry = submission(RECEIVE, fd, IORING_OP_RECV);
    entry->addr = (uintptr_t)connections[fd]->room;
    entry->len = ROOM;
}

static void answer(int fd, size_t got) {
    struct connection *one = connections[fd];
    one->room[got] = 0;
    size_t length = answer_requests(&one->rest, one->room, one->room + got, one->out, OUT);
    if (!length) { receive(fd); return; }
    one->parts[0] = (struct iovec){one->out, length};
    one->parts[1] = (struct iovec){large, LARGE};
    struct io_uring_sqe *entry;
    if (one->rest.large) {
        one->message = (struct msghdr){.msg_iov = one->parts, .msg_iovlen = 2};
        entry = submission(SEND, fd, IORING_OP_SENDMSG);
        entry->addr = (uintptr_t)&one->message;
        entry->len = 1;
        one->rest.large = 0;
    } else {
        entry = submission(SEND, fd, IORING_OP_SEND);
        entry->addr = (uintptr_t)one->out;
        entry->len = (unsigned)length;
    }
    entry->msg_flags = MSG_WAITALL | MSG_NOSIGNAL;      /* the kernel sends all of it */
}

static void drop(int fd) {
    close(fd);
    connections[fd]->rest = (struct rest){0, 0, 0};
}

static void begin(int fd) {
    if (fd >= FDS) { close(fd); return; }
    if (!connections[fd]) connections[fd] = calloc(1, sizeof(struct connection));
    if (!connections[fd]) { close(fd); return; }
    receive(fd);
}

static void on_done(uint64_t about, int result, unsigned flags) {
    int kind = (int)(about >> 32), fd = (int)(uint32_t)about;
    if (kind == ACCEPT) {
        if (result >= 0) begin(result);
        if (!(flags & IORING_CQE_F_MORE)) accept_many(fd);
    } else if (kind == RECEIVE) {
        if (result > 0) answer(fd, (size_t)result);
        else drop(fd);
    } else if (kind == SEND) {
        if (result > 0 && !connections[fd]->rest.closes) receive(fd);
        else drop(fd);
    }
}

int main(int count, char **values) {
    if (count != 2) return 2;
    int listener = listen_on(values[1], 0);
    open_ring();
    accept_many(listener);
    for (;;) {
        enter(1);
        refresh();
        unsigned head = *ring.done_head;
        unsigned tail = __atomic_load_n(ring.done_tail, __ATOMIC_ACQUIRE);
        for (; head != tail; head++) {
            struct io_uring_cqe *one = &ring.done[head & *ring.done_mask];
            on_done(one->user_data, one->res, one->flags);
        }
        __atomic_store_n(ring.done_head, head, __ATOMIC_RELEASE);
    }
}
