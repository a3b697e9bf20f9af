/* The load of the WebSocket benchmark, on one thread.

     load PORT echo|room CONNECTIONS PAYLOAD_LEN DEPTH MILLISECONDS

   echo: each connection sends DEPTH messages at once, waits until they have
   come back, and sends them again. room: the first connection sends a message,
   all get it, and then it sends the next. Every octet that comes is compared.
   Prints "MESSAGES NANOSECONDS": messages that have come in, and the time. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#define EVENT_COUNT 256
#define PATIENCE_MS 5000

static unsigned char *frame, *answer, *room;
static size_t frame_len, answer_len;

struct client {
  int fd;
  size_t sent, got;
};

static void fail(const char *what) {
  fprintf(stderr, "%s: %s\n", what, strerror(errno));
  exit(1);
}

static long long now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static size_t header(unsigned char *out, size_t len, int is_masked) {
  size_t count = 2;
  out[0] = 0x82;
  out[1] = is_masked ? 0x80 : 0;
  if (len < 126) {
    out[1] |= len;
  } else if (len < 65536) {
    out[1] |= 126;
    out[2] = len >> 8, out[3] = len & 255;
    count = 4;
  } else {
    out[1] |= 127;
    for (int i = 0; i < 8; i++) out[2 + i] = (unsigned long long)len >> (56 - 8 * i);
    count = 10;
  }
  return count;
}

/* Writes DEPTH masked frames, and what comes back for them. */
static void make_frames(size_t len, int depth) {
  static const unsigned char key[4] = {0x37, 0xfa, 0x21, 0x3d};
  frame = malloc(depth * (len + 14));
  answer = malloc(depth * (len + 10));
  room = malloc(depth * (len + 10));
  for (int n = 0; n < depth; n++) {
    frame_len += header(frame + frame_len, len, 1);
    memcpy(frame + frame_len, key, 4);
    frame_len += 4;
    answer_len += header(answer + answer_len, len, 0);
    for (size_t i = 0; i < len; i++) {
      unsigned char octet = (unsigned char)(i * 7 + (i >> 8) + n);
      answer[answer_len++] = octet;
      frame[frame_len++] = octet ^ key[i & 3];
    }
  }
}

static int open_client(int port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int fd = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
  if (fd < 0 || connect(fd, (void *)&address, sizeof address)) fail("connect");
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  struct timeval patience = {.tv_sec = PATIENCE_MS / 1000};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  char head[2048];
  int count = snprintf(head, sizeof head,
                       "GET / HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nUpgrade: websocket\r\n"
                       "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                       "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n", port);
  if (send(fd, head, count, 0) != count) fail("send");
  /* Octet by octet, so that nothing behind the head is lost. */
  for (count = 0; count < 4 || memcmp(head + count - 4, "\r\n\r\n", 4); count++)
    if (count == sizeof head || recv(fd, head + count, 1, 0) != 1) fail("handshake");
  if (memcmp(head, "HTTP/1.1 101", 12)) fail("not upgraded");
  return fd;
}

static void send_more(struct client *client) {
  while (client->sent < frame_len) {
    ssize_t count = send(client->fd, frame + client->sent, frame_len - client->sent,
                         MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) fail("send");
    client->sent += count;
  }
}

/* Reads what is here; true once the whole answer has come. */
static int read_more(struct client *client) {
  while (client->got < answer_len) {
    ssize_t count = recv(client->fd, room, answer_len - client->got, MSG_DONTWAIT);
    if (count < 0 && errno == EAGAIN) return 0;
    if (count <= 0) fail("the server has closed");
    if (memcmp(room, answer + client->got, count)) fail("not what was sent");
    client->got += count;
  }
  client->got = 0;
  return 1;
}

static void send_again(struct client *client) {
  client->sent = 0;
  send_more(client);
}

int main(int argc, char **argv) {
  if (argc != 7) return 2;
  int port = atoi(argv[1]), is_echo = !strcmp(argv[2], "echo");
  int client_count = atoi(argv[3]), depth = atoi(argv[5]);
  make_frames(atoi(argv[4]), depth);
  struct client *clients = calloc(client_count, sizeof *clients);
  int selector = epoll_create1(0);
  for (int i = 0; i < client_count; i++) {
    clients[i].fd = open_client(port);
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = &clients[i]};
    clients[i].sent = is_echo || i == 0 ? 0 : frame_len;
    epoll_ctl(selector, EPOLL_CTL_ADD, clients[i].fd, &event);
  }
  long long message_count = 0, missing = client_count;
  long long start = now_ns(), end = start + atoll(argv[6]) * 1000000;
  for (int i = 0; i < client_count; i++) send_more(&clients[i]);
  while (now_ns() < end) {
    struct epoll_event events[EVENT_COUNT];
    int count = epoll_wait(selector, events, EVENT_COUNT, PATIENCE_MS);
    if (count == 0) fail("nothing comes");
    for (int i = 0; i < count; i++) {
      struct client *client = events[i].data.ptr;
      if (client->sent < frame_len) send_more(client);
      if (!(events[i].events & EPOLLIN) || !read_more(client)) continue;
      message_count += depth;
      if (is_echo) {
        send_again(client);
      } else if (--missing == 0) {
        missing = client_count;
        send_again(&clients[0]);
      }
    }
  }
  printf("%lld %lld\n", message_count, now_ns() - start);
  return 0;
}
