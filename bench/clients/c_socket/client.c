/* The limit of a client: one connection, a request that is made once, and of a
   response only its end is looked for. URL, 1, length of the content. For each
   line on standard input it asks for so many seconds and prints what came. */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static char room[1 << 20];

static long now_us(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000L + time.tv_nsec / 1000;
}

/* Sends the request and reads the response; the length of its body, or -1. */
static long ask(int descriptor, const char *request, size_t length) {
    for (size_t sent = 0; sent < length;) {
        ssize_t count = send(descriptor, request + sent, length - sent, MSG_NOSIGNAL);
        if (count <= 0) return -1;
        sent += (size_t)count;
    }
    size_t got = 0, wanted = 0, head = 0;
    while (!wanted || got < wanted) {
        ssize_t count = recv(descriptor, room + got, sizeof room - 1 - got, 0);
        if (count <= 0) return -1;
        got += (size_t)count;
        room[got] = 0;
        char *end, *field;
        if (wanted || !(end = strstr(room, "\r\n\r\n"))) continue;
        if (strncmp(room, "HTTP/1.1 200", 12)) return -1;
        if (!(field = strcasestr(room, "\r\nContent-Length:")) || field > end) return -1;
        head = (size_t)(end + 4 - room);
        wanted = head + strtoul(field + 17, NULL, 10);
        if (wanted >= sizeof room) return -1;
    }
    return got == wanted ? (long)(wanted - head) : -1;
}

int main(int count_of, char **values) {
    char host[64] = "", path[256] = "", line[32];
    unsigned short port = 0;
    if (count_of != 4 || sscanf(values[1], "http://%63[0-9.]:%hu%255s", host, &port, path) != 3)
        return 2;
    long content_len = atol(values[3]), requests, octets, failures;
    char *request = malloc((size_t)content_len + 512);
    int length = sprintf(request, "%s %s HTTP/1.1\r\nHost: %s:%d\r\n", content_len ? "POST" : "GET",
                         path, host, port);
    if (content_len)
        length += sprintf(request + length,
                          "Content-Type: application/octet-stream\r\nContent-Length: %ld\r\n",
                          content_len);
    length += sprintf(request + length, "\r\n");
    memset(request + length, 'u', (size_t)content_len);
    length += (int)content_len;

    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    inet_pton(AF_INET, host, &address.sin_addr);
    int descriptor = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(descriptor, (struct sockaddr *)&address, sizeof address)) return 1;
    while (fgets(line, sizeof line, stdin)) {
        long began = now_us(), end = began + atol(line) * 1000000L, count = 0;
        for (requests = octets = failures = 0; count >= 0 && now_us() < end;) {
            count = ask(descriptor, request, (size_t)length);
            if (count < 0) failures++;
            else requests++, octets += count;
        }
        printf("{\"requests\": %ld, \"bytes\": %ld, \"failures\": %ld, \"duration_us\": %ld}\n",
               requests, octets, failures, now_us() - began);
        fflush(stdout);
    }
    close(descriptor);
    return 0;
}
