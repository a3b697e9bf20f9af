/* The limit of the machine: one thread, edge-triggered epoll, no parsing beyond
   finding where a request ends. Answers what the hello server answers.
   Usage: server PORT */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { EVENTS = 512, ROOM = 65536, OUT = 262144, LARGE = 65536, FDS = 65536 };

static char room[ROOM + 1], out[OUT], head_small[256], head_large[256], head_done[256], large[LARGE];
static size_t small_len, large_len, done_len;
static size_t body_left[FDS];           /* octets of an upload still to come */
static size_t unsent[FDS];              /* octets of the large body still to send */
static const char HELLO[] = "Hello, World!", DONE[] = "OK";

static size_t write_head(char *to, size_t length) {
    char date[64];
    time_t now = time(NULL);
    struct tm parts;
    gmtime_r(&now, &parts);
    strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", &parts);
    return (size_t)sprintf(to, "HTTP/1.1 200 OK\r\nDate: %s\r\nContent-Type: text/plain; charset=utf-8\r\n"
                               "Content-Length: %zu\r\n\r\n", date, length);
}

static void refresh(void) {
    static time_t last;
    time_t now = time(NULL);
    if (now == last) return;
    last = now;
    small_len = write_head(head_small, sizeof HELLO - 1);
    large_len = write_head(head_large, LARGE);
    done_len = write_head(head_done, sizeof DONE - 1);
}

static void send_large_rest(int fd) {
    while (unsent[fd]) {
        ssize_t sent = send(fd, large + LARGE - unsent[fd], unsent[fd], MSG_NOSIGNAL);
        if (sent <= 0) return;
        unsent[fd] -= (size_t)sent;
    }
}

static void answer_large(int fd) {
    struct iovec parts[2] = {{head_large, large_len}, {large, LARGE}};
    ssize_t sent = writev(fd, parts, 2);
    if (sent < 0) sent = 0;
    size_t whole = large_len + LARGE;
    if ((size_t)sent < whole) unsent[fd] = whole - (size_t)sent;   /* the head always fits */
}

static size_t answer_upload(char *to) {
    memcpy(to, head_done, done_len);
    memcpy(to + done_len, DONE, sizeof DONE - 1);
    return done_len + sizeof DONE - 1;
}

static void on_readable(int fd) {
    for (;;) {
        ssize_t got = recv(fd, room, ROOM, 0);
        if (got <= 0) {
            if (got == 0 || errno != EAGAIN) close(fd), body_left[fd] = unsent[fd] = 0;
            return;
        }
        room[got] = 0;
        char *at = room, *end = room + got;
        size_t length = 0;
        if (body_left[fd]) {
            size_t taken = (size_t)got < body_left[fd] ? (size_t)got : body_left[fd];
            at += taken;
            if ((body_left[fd] -= taken) == 0) length += answer_upload(out + length);
        }
        char *stop;
        while (at < end && (stop = memmem(at, (size_t)(end - at), "\r\n\r\n", 4))) {
            if (at[0] == 'P') {
                char *field = memmem(at, (size_t)(stop - at), "Content-Length: ", 16);
                size_t wanted = field ? strtoul(field + 16, NULL, 10) : 0;
                size_t here = (size_t)(end - stop - 4);
                at = stop + 4 + (wanted < here ? wanted : here);
                if (wanted > here) body_left[fd] = wanted - here;
                else length += answer_upload(out + length);
            } else if (at[5] == '6') {
                answer_large(fd);
                at = stop + 4;
            } else {
                memcpy(out + length, head_small, small_len);
                memcpy(out + length + small_len, HELLO, sizeof HELLO - 1);
                length += small_len + sizeof HELLO - 1;
                at = stop + 4;
            }
            if (length > OUT - 4096) break;
        }
        if (length && send(fd, out, length, MSG_NOSIGNAL) < 0) return;
        if (got < ROOM) return;
    }
}

int main(int count, char **values) {
    int one = 1, listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    struct sockaddr_in address = {.sin_family = AF_INET};
    struct epoll_event event = {.events = EPOLLIN}, events[EVENTS];
    if (count != 2) return 2;
    address.sin_port = htons((unsigned short)atoi(values[1]));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    signal(SIGPIPE, SIG_IGN);
    memset(large, 'x', LARGE);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    setsockopt(listener, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 4096)) {
        perror("c_epoll");
        return 1;
    }
    int epoll = epoll_create1(0);
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
            if (unsent[fd] && (events[index].events & EPOLLOUT)) send_large_rest(fd);
            if (events[index].events & ~(uint32_t)EPOLLOUT) on_readable(fd);
        }
    }
}
