/* What the two raw servers in C answer: they find where a request ends, look at
   one octet of its path, and parse nothing else. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum { LARGE = 65536 };

/* What a connection still has to come: octets of an upload to take, octets of
   the large body to send, its end. */
struct rest { size_t upload, large; int closes; };

static char large[LARGE];
/* An answer whole, head and body; the large one's body follows from `large`. */
static struct answer { char octets[320]; size_t length; } hello, bye, user, object, upload, large_head;

static void write_answer(struct answer *to, const char *type, size_t length, const char *body) {
    char date[64];
    time_t now = time(NULL);
    struct tm parts;
    gmtime_r(&now, &parts);
    strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", &parts);
    to->length = (size_t)sprintf(to->octets, "HTTP/1.1 200 OK\r\nDate: %s\r\nContent-Type: %s\r\n"
                                 "Content-Length: %zu\r\n\r\n%s", date, type, length, body);
}

/* Writes the answers anew when the second has changed; they carry the date. */
static void refresh(void) {
    static const char plain[] = "text/plain; charset=utf-8";
    static time_t last;
    time_t now = time(NULL);
    if (now == last) return;
    last = now;
    write_answer(&hello, plain, 13, "Hello, World!");
    write_answer(&bye, "text/plain; charset=utf-8\r\nConnection: close", 13, "Hello, World!");
    write_answer(&user, plain, 7, "user 42");
    write_answer(&object, "application/json", 27, "{\"message\":\"Hello, World!\"}");
    write_answer(&upload, plain, 2, "OK");
    write_answer(&large_head, plain, LARGE, "");
}

static size_t put(char *to, const struct answer *from) {
    memcpy(to, from->octets, from->length);
    return from->length;
}

/* Answers the requests that lie whole in [at, end), which must be followed by a
   NUL. Gives the octets written to `to`; rest->large is set when the large body
   has to follow them. */
static size_t answer_requests(struct rest *rest, char *at, char *end, char *to, size_t room) {
    size_t length = 0;
    if (rest->upload) {
        size_t here = (size_t)(end - at), taken = here < rest->upload ? here : rest->upload;
        at += taken;
        if ((rest->upload -= taken) == 0) length += put(to, &upload);
    }
    char *stop;
    while (at < end && length + 1024 < room &&
           (stop = memmem(at, (size_t)(end - at), "\r\n\r\n", 4))) {
        if (at[0] == 'P') {
            char *field = memmem(at, (size_t)(stop - at), "Content-Length: ", 16);
            /* Some gateways write all names in lower case. */
            if (!field) field = memmem(at, (size_t)(stop - at), "content-length: ", 16);
            size_t wanted = field ? strtoul(field + 16, NULL, 10) : 0;
            size_t here = (size_t)(end - stop - 4);
            at = stop + 4 + (wanted < here ? wanted : here);
            if (wanted > here) rest->upload = wanted - here;
            else length += put(to + length, &upload);
            continue;
        }
        if (!memcmp(stop - 5, "close", 5)) {    /* of the last field */
            rest->closes = 1;
            return length + put(to + length, &bye);
        }
        switch (at[5]) {                /* the octet behind "GET /" */
        case '6': length += put(to + length, &large_head); rest->large = LARGE; break;
        case 'j': length += put(to + length, &object); break;
        case 'u': length += put(to + length, &user); break;
        default: length += put(to + length, &hello);
        }
        at = stop + 4;
    }
    return length;
}

/* Listens on the port; SO_REUSEPORT lets several processes share it. */
static int listen_on(const char *port, int type) {
    int one = 1, listener = socket(AF_INET, SOCK_STREAM | type, 0);
    const char *host = getenv("BENCH_HOST");
    struct sockaddr_in address = {.sin_family = AF_INET};
    address.sin_port = htons((unsigned short)atoi(port));
    if (inet_pton(AF_INET, host ? host : "127.0.0.1", &address.sin_addr) != 1) exit(2);
    signal(SIGPIPE, SIG_IGN);
    memset(large, 'x', LARGE);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    setsockopt(listener, SOL_SOCKET, SO_REUSEPORT, &one, sizeof one);
    setsockopt(listener, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 4096)) {
        perror("listen");
        exit(1);
    }
    return listener;
}
