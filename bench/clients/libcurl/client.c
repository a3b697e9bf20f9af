/* A client of libcurl: URL, how many requests at once, length of the content.
   For each line on standard input it asks for so many seconds and prints what
   came of it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* What of curl/curl.h is needed; these are part of the library's stable ABI. */
typedef void Easy, Multi;
struct list;
struct message { int kind; Easy *handle; union { void *data; int result; } with; };
enum { URL = 10002, WRITE_DATA = 10001, POST_FIELDS = 10015, HTTP_HEADER = 10023,
       POST_SIZE = 60, NO_SIGNAL = 99, WRITE_FUNCTION = 20011, NO_PROXY = 10177,
       RESPONSE_CODE = 0x200002, DONE = 1 };
int curl_global_init(long flags);
Easy *curl_easy_init(void);
int curl_easy_setopt(Easy *, int option, ...);
int curl_easy_perform(Easy *);
int curl_easy_getinfo(Easy *, int what, ...);
struct list *curl_slist_append(struct list *, const char *);
Multi *curl_multi_init(void);
int curl_multi_add_handle(Multi *, Easy *);
int curl_multi_remove_handle(Multi *, Easy *);
int curl_multi_perform(Multi *, int *running);
int curl_multi_poll(Multi *, void *, unsigned, int timeout_ms, int *);
struct message *curl_multi_info_read(Multi *, int *left);

static char room[1 << 20];
static size_t octets;
static long requests, failures;

static size_t keep(char *data, size_t size, size_t count, void *at) {
    size_t *length = at, got = size * count;
    if (*length + got > sizeof room) return 0;
    memcpy(room + *length, data, got);
    *length += got;
    return got;
}

static long now_us(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000L + time.tv_nsec / 1000;
}

static void count(Easy *easy, int result, size_t *length) {
    long status = 0;
    curl_easy_getinfo(easy, RESPONSE_CODE, &status);
    if (result || status != 200) failures++;
    else requests++, octets += *length;
    *length = 0;
}

static void one_by_one(Easy *easy, size_t *length, long end) {
    while (now_us() < end) count(easy, curl_easy_perform(easy), length);
}

static void at_once(Multi *multi, Easy **easies, size_t *lengths, int parallel, long end) {
    int running = 0, left;
    struct message *message;
    for (int index = 0; index < parallel; index++) curl_multi_add_handle(multi, easies[index]);
    do {
        curl_multi_perform(multi, &running);
        while ((message = curl_multi_info_read(multi, &left))) {
            Easy *easy = message->handle;
            int result = message->with.result, index = 0;
            if (message->kind != DONE) continue;
            while (easies[index] != easy) index++;
            curl_multi_remove_handle(multi, easy);
            count(easy, result, &lengths[index]);
            if (now_us() < end) curl_multi_add_handle(multi, easy), running++;
        }
        if (running) curl_multi_poll(multi, NULL, 0, 1000, NULL);
    } while (running);
}

int main(int count_of, char **values) {
    if (count_of != 4) return 2;
    int parallel = atoi(values[2]);
    long content_len = atol(values[3]);
    char *content = malloc((size_t)content_len + 1), line[32];
    Easy **easies = calloc((size_t)parallel, sizeof *easies);
    size_t *lengths = calloc((size_t)parallel, sizeof *lengths);
    struct list *fields = curl_slist_append(NULL, "Content-Type: application/octet-stream");
    memset(content, 'u', (size_t)content_len);
    curl_global_init(3);
    for (int index = 0; index < parallel; index++) {
        Easy *easy = easies[index] = curl_easy_init();
        curl_easy_setopt(easy, URL, values[1]);
        curl_easy_setopt(easy, NO_SIGNAL, 1L);
        curl_easy_setopt(easy, NO_PROXY, "*");
        curl_easy_setopt(easy, WRITE_FUNCTION, keep);
        curl_easy_setopt(easy, WRITE_DATA, &lengths[index]);
        if (content_len) {
            curl_easy_setopt(easy, POST_SIZE, content_len);
            curl_easy_setopt(easy, POST_FIELDS, content);
            curl_easy_setopt(easy, HTTP_HEADER, fields);
        }
    }
    Multi *multi = curl_multi_init();
    while (fgets(line, sizeof line, stdin)) {
        long began = now_us(), end = began + atol(line) * 1000000L;
        requests = failures = 0, octets = 0;
        if (parallel == 1) one_by_one(easies[0], lengths, end);
        else at_once(multi, easies, lengths, parallel, end);
        printf("{\"requests\": %ld, \"bytes\": %zu, \"failures\": %ld, \"duration_us\": %ld}\n",
               requests, octets, failures, now_us() - began);
        fflush(stdout);
    }
    return 0;
}
