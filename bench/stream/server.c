/* Sends so many octets to whoever asks. LENGTH; prints its port. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static char piece[1 << 18];

static void answer(int client, long length) {
    char room[65536];
    size_t got = 0;
    while (got < sizeof room - 1) {
        ssize_t count = recv(client, room + got, sizeof room - 1 - got, 0);
        if (count <= 0) return;
        got += (size_t)count;
        room[got] = 0;
        if (strstr(room, "\r\n\r\n")) break;
    }
    char head[128];
    int head_len = sprintf(head, "HTTP/1.1 200 OK\r\nContent-Length: %ld\r\n\r\n", length);
    if (send(client, head, (size_t)head_len, MSG_NOSIGNAL) != head_len) return;
    while (length > 0) {
        size_t wanted = length < (long)sizeof piece ? (size_t)length : sizeof piece;
        ssize_t count = send(client, piece, wanted, MSG_NOSIGNAL);
        if (count <= 0) return;
        length -= count;
    }
    while (recv(client, room, sizeof room, 0) > 0) {
    }
}

int main(int count_of, char **values) {
    if (count_of != 2) return 2;
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t address_len = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&address, address_len) || listen(listener, 8)) return 1;
    getsockname(listener, (struct sockaddr *)&address, &address_len);
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    for (;;) {
        int client = accept(listener, NULL, NULL);
        if (client < 0) return 1;
        answer(client, atol(values[1]));
        close(client);
    }
}
