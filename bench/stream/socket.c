/* The limit of a client: receives into one buffer, and counts. PORT. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static char room[65536];

int main(int count_of, char **values) {
    if (count_of != 2) return 2;
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((unsigned short)atoi(values[1])),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    static const char request[] = "GET / HTTP/1.1\r\nHost: bench\r\n\r\n";
    int server = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(server, (struct sockaddr *)&address, sizeof address)) return 1;
    if (send(server, request, sizeof request - 1, 0) < 0) return 1;
    long total = 0, wanted = -1;
    while (wanted < 0 || total < wanted) {
        ssize_t count = recv(server, room, sizeof room, 0);
        if (count <= 0) return 1;
        total += count;
        if (wanted < 0) {
            char *end = memmem(room, (size_t)count, "\r\n\r\n", 4);
            char *field = memmem(room, (size_t)count, "Length: ", 8);
            if (!end || !field) return 1;
            wanted = atol(field + 8) + (end + 4 - room);
        }
    }
    printf("%ld\n", total);
    return 0;
}
