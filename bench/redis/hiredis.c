/* The benchmark's commands by hiredis: SOCKET COUNT PIPELINED GET|SET|SUB. */
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *GET[] = {"GET", "bench:key"};
static const char *SET[] = {"SET", "bench:key",
                            "value-of-31-octets-01234567890."};

static redisReply *next_reply(redisContext *redis) {
  void *reply;
  if (redisGetReply(redis, &reply) != REDIS_OK) {
    fprintf(stderr, "%s\n", redis->errstr);
    exit(1);
  }
  return reply;
}

static long commands(redisContext *redis, int count, int size, int is_get) {
  long total = 0;
  for (int done = 0; done < count; done += size) {
    for (int index = 0; index < size; index++)
      redisAppendCommandArgv(redis, is_get ? 2 : 3, is_get ? GET : SET, NULL);
    for (int index = 0; index < size; index++) {
      redisReply *reply = next_reply(redis);
      total += reply->len > 0;
      freeReplyObject(reply);
    }
  }
  return total;
}

static long messages(redisContext *redis, int count) {
  long total = 0;
  redisAppendCommand(redis, "SUBSCRIBE bench:channel");
  freeReplyObject(next_reply(redis));
  for (int index = 0; index < count; index++) {
    redisReply *reply = next_reply(redis);
    total += reply->element[2]->len;
    freeReplyObject(reply);
  }
  return total;
}

int main(int argc, char **argv) {
  if (argc != 5) return 2;
  redisContext *redis = redisConnectUnix(argv[1]);
  int count = atoi(argv[2]);
  if (redis == NULL || redis->err) return 1;
  if (strcmp(argv[4], "SUB") == 0)
    printf("%ld\n", messages(redis, count));
  else
    printf("%ld\n",
           commands(redis, count, atoi(argv[3]), strcmp(argv[4], "GET") == 0));
  redisFree(redis);
  return 0;
}
