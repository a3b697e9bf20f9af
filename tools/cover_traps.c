/* Loaded into a test program (LD_PRELOAD) that was built with line tables: puts a
   trap on each address that begins a line, and takes it away when it is hit, so that
   a line costs one signal, however often it runs.

   COVERAGE_ADDRESSES names a file of addresses as the program has them, 64 bits each
   and sorted; COVERAGE_HITS one with an octet for each, which threads and children
   share. If that is longer, its last 64 bits count what was hit: guided fuzzing has
   traps on branches, and looks there whether an input has reached one more. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <ucontext.h>
#include <unistd.h>

static uint64_t *addresses;
static uint8_t *hits, *originals;
static size_t count;
static uint64_t *hit_count;
static uint64_t base;

typedef int (*sigaction_type)(int, const struct sigaction *, struct sigaction *);

static int set_action(int number, const struct sigaction *wanted, struct sigaction *old) {
    static sigaction_type next;
    if (!next) next = (sigaction_type)dlsym(RTLD_NEXT, "sigaction");
    return next(number, wanted, old);
}

/* The runtime of the language has a handler of its own for all signals of faults. */
int sigaction(int number, const struct sigaction *wanted, struct sigaction *old) {
    return set_action(number, number == SIGTRAP ? NULL : wanted, old);
}

static void *map_file(const char *name, size_t *length, int writes) {
    int fd = open(name, (writes ? O_RDWR : O_RDONLY) | O_CLOEXEC);
    struct stat about;
    if (fd < 0 || fstat(fd, &about) != 0) {
        perror(name);
        _exit(3);
    }
    *length = (size_t)about.st_size;
    void *found = mmap(NULL, *length, PROT_READ | (writes ? PROT_WRITE : 0),
                       MAP_SHARED, fd, 0);
    close(fd);
    if (found == MAP_FAILED) {
        perror("mmap");
        _exit(3);
    }
    return found;
}

static void on_trap(int number, siginfo_t *info, void *context) {
    (void)info;
    greg_t *pc = &((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
    uint64_t wanted = (uint64_t)*pc - 1 - base;
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (addresses[middle] < wanted) low = middle + 1; else high = middle;
    }
    if (low == count || addresses[low] != wanted) {
        struct sigaction plain;
        memset(&plain, 0, sizeof plain);
        plain.sa_handler = SIG_DFL;
        set_action(number, &plain, NULL);
        return;
    }
    /* Another thread may have been here: the octet is the same. */
    *(volatile uint8_t *)(base + wanted) = originals[low];
    if (!hits[low] && hit_count) __atomic_fetch_add(hit_count, 1, __ATOMIC_RELAXED);
    hits[low] = 1;
    *pc -= 1;
}

static int open_text(struct dl_phdr_info *info, size_t size, void *found) {
    (void)size;
    if (*(int *)found) return 0;
    *(int *)found = 1; /* The program itself is the first. */
    base = info->dlpi_addr;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (int at = 0; at < info->dlpi_phnum; at++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[at];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_X)) continue;
        uint64_t start = (base + part->p_vaddr) / page * page;
        uint64_t end = base + part->p_vaddr + part->p_memsz;
        if (mprotect((void *)start, end - start, PROT_READ | PROT_WRITE | PROT_EXEC)) {
            perror("mprotect");
            _exit(3);
        }
    }
    return 0;
}

__attribute__((constructor)) static void begin(void) {
    const char *list = getenv("COVERAGE_ADDRESSES"), *record = getenv("COVERAGE_HITS");
    if (!list || !record) return;
    size_t length, hits_len;
    addresses = map_file(list, &length, 0);
    count = length / sizeof *addresses;
    hits = map_file(record, &hits_len, 1);
    originals = malloc(count);
    if (hits_len < count || !originals) _exit(3);
    if (hits_len >= count + 8) hit_count = (uint64_t *)(hits + hits_len - 8);
    int found = 0;
    dl_iterate_phdr(open_text, &found);
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_trap;
    /* It may come within itself for no line of ours: nothing here has a trap. */
    action.sa_flags = SA_SIGINFO | SA_RESTART | SA_NODEFER;
    set_action(SIGTRAP, &action, NULL);
    for (size_t at = 0; at < count; at++) {
        uint8_t *place = (uint8_t *)(base + addresses[at]);
        originals[at] = *place;
        *place = 0xcc;
    }
    /* Programs that they start have other addresses. */
    unsetenv("LD_PRELOAD");
}
