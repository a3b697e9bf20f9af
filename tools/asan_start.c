/* Linked with programs that AddressSanitizer watches: it sees Mojo's heap only after
   this call of the runtime (docs/mojo-notes.md).

   Its allocator, unlike the system's, does not care for forks: a child of a process
   whose other threads allocate at that moment waits for ever for their lock. Mojo's
   runtime has threads of its own from the start of a program on, so a fork waits
   until all others sleep. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void KGEN_CompilerRT_SetAsanAllocators(void);

enum { LOOK_COUNT_MAX = 2000, PAUSE_US = 500 };

static int sleeps(const char *task) {
  char path[64], text[256];
  snprintf(path, sizeof path, "/proc/self/task/%s/stat", task);
  int file = open(path, O_RDONLY);
  if (file < 0) return 1;
  ssize_t count = read(file, text, sizeof text - 1);
  close(file);
  text[count > 0 ? count : 0] = 0;
  const char *behind = strrchr(text, ')');
  return !behind || behind[2] == 'S';
}

static int all_sleep(void) {
  int result = 1;
  DIR *tasks = opendir("/proc/self/task");
  if (!tasks) return 1;
  for (struct dirent *task; result && (task = readdir(tasks));)
    if (task->d_name[0] != '.' && atoi(task->d_name) != gettid())
      result = sleeps(task->d_name);
  closedir(tasks);
  return result;
}

static void await_sleep(void) {
  for (int count = 0; count < LOOK_COUNT_MAX && !all_sleep(); count++)
    usleep(PAUSE_US);
}

__attribute__((constructor)) static void begin(void) {
  KGEN_CompilerRT_SetAsanAllocators();
  pthread_atfork(await_sleep, NULL, NULL);
}
