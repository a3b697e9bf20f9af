/* The limit of the machine: one thread, edge-triggered epoll, nothing parsed.
   Usage: server PORT; BENCH_HOST is the address, by default loopback. */
#define _GNU_SOURCE
#include "../answers.h"
#include "../ws_echo.h"
#include <errno.h>
#include <sys/epoll.h>
#include <sys/uio.h>
#include <unistd.h>

enum { EVENTS = 512, ROOM = 65536, OUT = 262144, FDS = 65536 };

static char room[ROOM + 1], out[OUT];
static struct rest rests[FDS];
static struct echo echoes[FDS];

static void send_large_rest(int fd) {
    while (rests[fd].large) {
        ssize_t sent = send(fd, large + LARGE - rests[fd].large, rests[fd].large, MSG_NOSIGNAL);
        if (sent <= 0) return;
        rests[fd].large -= (size_t)sent;
    }
}

/* Sends the answers and, behind the last, what fits of the large body. */
static int send_answers(int fd, size_t length) {
    if (!rests[fd].large) return send(fd, out, length, MSG_NOSIGNAL) < 0;
    struct iovec parts[2] = {{out, length}, {large, LARGE}};
    ssize_t sent = writev(fd, parts, 2);
    if (sent > (ssize_t)length) rests[fd].large -= (size_t)sent - length;  /* the head always fits */
    return sent < 0;
}

static void drop(int fd) {
    close(fd);
    rests[fd] = (struct rest){0, 0, 0};
    echoes[fd].is_open = 0;
}

static void on_readable(int fd) {
    for (;;) {
        ssize_t got = recv(fd, room, ROOM, 0);
        if (got <= 0) {
            if (got == 0 || errno != EAGAIN) drop(fd);
            return;
        }
        room[got] = 0;
        size_t length;
        if (echoes[fd].is_open) length = answer_frames(&echoes[fd], room, (size_t)got, out);
        else if (room[0] == 'G' && room[5] == 'w')
            length = answer_handshake(&echoes[fd], room, (size_t)got, out);
        else length = answer_requests(&rests[fd], room, room + got, out, OUT);
        if (length && send_answers(fd, length)) return;
        if (rests[fd].closes) { drop(fd); return; }
        if (got < ROOM) return;
    }
}

int main(int count, char **values) {
    struct epoll_event event = {.events = EPOLLIN}, events[EVENTS];
    if (count != 2) return 2;
    int listener = listen_on(values[1], SOCK_NONBLOCK), epoll = epoll_create1(0);
    event.data.fd = listener;
    epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event);
    for (;;) {
        int ready = epoll_wait(epoll, events, EVENTS, 1000);
        refresh();
        for (int index = 0; index < ready; index++) {
            int fd = events[index].data.fd;
            if (fd == listener) {
                int accepted;
                while ((accepted = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
                    if (accepted >= FDS) { close(accepted); continue; }
                    event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
                    event.data.fd = accepted;
                    epoll_ctl(epoll, EPOLL_CTL_ADD, accepted, &event);
                }
                continue;
            }
            if (rests[fd].large && (events[index].events & EPOLLOUT)) send_large_rest(fd);
            if (events[index].events & ~(uint32_t)EPOLLOUT) on_readable(fd);
        }
    }
}
