/* Loaded into a fuzz target (LD_PRELOAD): the threads that it starts run one after
   the other on its own thread, each on a stack of its own. A thread gives way where
   it locks a mutex, waits for a descriptor or ends, and who goes on is chosen by a
   number that the target gives: so an input has the same order of steps each time,
   and no run waits for a processor that others have. Threads that wait for ever are
   an abort, not a hang.

   `one_thread_begin(number)` begins that, `one_thread_end()` ends it when all threads
   were joined; in between `one_thread_turn()` lets some go on. Without them, and for
   anybody else, the functions are the C library's. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

enum { TASK_MAX = 64, STACK_LEN = 256 * 1024 };
enum state { FREE, READY, WAITS, ENDED };

struct task {
    ucontext_t context;
    char *stack;
    void *(*entry)(void *);
    void *argument;
    enum state state;
    struct pollfd *entries;
    nfds_t entry_count;
};

static struct task tasks[TASK_MAX];
static struct task *current;
static ucontext_t caller;
static uint64_t dice;
static int is_on;

static unsigned below(unsigned count) {
    dice ^= dice << 13;
    dice ^= dice >> 7;
    dice ^= dice << 17;
    return (dice >> 11) % count;
}

static void *next_of(const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    if (!found) abort();
    return found;
}

static int real_poll(struct pollfd *entries, nfds_t count, int timeout) {
    static int (*real)(struct pollfd *, nfds_t, int);
    if (!real) *(void **)&real = next_of("poll");
    return real(entries, count, timeout);
}

static int may_run(struct task *task) {
    if (task->state == WAITS && real_poll(task->entries, task->entry_count, 0) != 0)
        task->state = READY;
    return task->state == READY;
}

/* Lets one thread go on that can; 0 if there is none. */
static int run_one(void) {
    unsigned start = below(TASK_MAX);
    for (unsigned index = 0; index < TASK_MAX; index++) {
        struct task *task = &tasks[(start + index) % TASK_MAX];
        if (!may_run(task)) continue;
        current = task;
        swapcontext(&caller, &task->context);
        current = NULL;
        return 1;
    }
    return 0;
}

static void give_way(void) {
    struct task *own = current;
    swapcontext(&own->context, &caller);
}

static void begin_task(void) {
    current->entry(current->argument);
    current->state = ENDED;
    setcontext(&caller);
}

void one_thread_turn(void) {
    while (below(2) && run_one())
        ;
}

void one_thread_begin(uint64_t number) {
    dice = number | 1;
    is_on = 1;
}

void one_thread_end(void) { is_on = 0; }

int pthread_create(pthread_t *handle, const pthread_attr_t *attributes, void *(*entry)(void *),
                   void *argument) {
    static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    if (!real) *(void **)&real = next_of("pthread_create");
    if (!is_on) return real(handle, attributes, entry, argument);
    for (int index = 0; index < TASK_MAX; index++) {
        struct task *task = &tasks[index];
        if (task->state != FREE) continue;
        if (!task->stack && !(task->stack = malloc(STACK_LEN))) return EAGAIN;
        task->entry = entry;
        task->argument = argument;
        getcontext(&task->context);
        task->context.uc_stack.ss_sp = task->stack;
        task->context.uc_stack.ss_size = STACK_LEN;
        makecontext(&task->context, begin_task, 0);
        task->state = READY;
        *handle = (pthread_t)(index + 1);
        if (!current) one_thread_turn();
        return 0;
    }
    return EAGAIN;
}

int pthread_join(pthread_t handle, void **result) {
    static int (*real)(pthread_t, void **);
    if (!real) *(void **)&real = next_of("pthread_join");
    if (!is_on) return real(handle, result);
    struct task *task = &tasks[handle - 1];
    while (task->state != ENDED)
        if (!run_one()) {
            fputs("a thread is joined that waits for ever\n", stderr);
            abort();
        }
    task->state = FREE;
    return 0;
}

int pthread_mutex_lock(pthread_mutex_t *mutex) {
    static int (*real)(pthread_mutex_t *);
    if (!real) *(void **)&real = next_of("pthread_mutex_lock");
    if (!is_on) return real(mutex);
    if (current) {
        if (below(2)) give_way();
    } else {
        one_thread_turn();
    }
    while (pthread_mutex_trylock(mutex) != 0) {
        if (current) {
            give_way();
        } else if (!run_one()) {
            fputs("a mutex is locked that nobody gives back\n", stderr);
            abort();
        }
    }
    return 0;
}

int poll(struct pollfd *entries, nfds_t count, int timeout) {
    if (!is_on || !current || timeout == 0) return real_poll(entries, count, timeout);
    int found;
    while ((found = real_poll(entries, count, 0)) == 0) {
        current->entries = entries;
        current->entry_count = count;
        current->state = WAITS;
        give_way();
    }
    return found;
}
