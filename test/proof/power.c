/*
 * A disk that keeps only what was synced, for one directory: after each fsync or fdatasync of a file below POWER_FROM, the file as
 * it is then is copied to POWER_TO, as `<time>-<name>`. The last copies of all files up to some time are what a power cut at that
 * time would leave at worst. The time is in microseconds, of the clock that all processes share, and of the end of the copy.
 *
 * With FAIL_ONE_IN, one in so many writes and syncs of these files fails with EIO or ENOSPC and is not done, after the first hundred
 * of a process, so that it has opened its store. FAIL_SEED decides which ones. After these hundred,
 * one in FAIL_READ_ONE_IN reads fails with EIO, too.
 *
 *   cc -shared -fPIC -O1 -o power.so power.c -ldl     LD_PRELOAD=./power.so POWER_FROM=… POWER_TO=… program
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* One copy at a time: a later one has all that an earlier one has. */
static int lock_copies(const char *to) {
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s/.lock", to);
  int lock = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  if (lock < 0 || flock(lock, LOCK_EX) != 0) abort();
  return lock;
}

static void copy(int fd, const char *to, const char *name) {
  static char buffer[1 << 16];
  char draft[PATH_MAX], final[PATH_MAX];
  int lock = lock_copies(to);
  snprintf(draft, sizeof draft, "%s/.%s.%d", to, name, (int)getpid());
  int out = open(draft, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
  if (out < 0) abort();
  for (off_t at = 0;;) {
    ssize_t length = pread(fd, buffer, sizeof buffer, at);
    if (length < 0) abort();
    if (length == 0) break;
    if (write(out, buffer, length) != length) abort();
    at += length;
  }
  close(out);
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  long long time = (long long)now.tv_sec * 1000000 + now.tv_nsec / 1000;
  snprintf(final, sizeof final, "%s/%016lld-%s", to, time, name);
  if (rename(draft, final) != 0) abort();
  close(lock);
}

/* The name of a file of the directory, in `path`; null: another file. */
static const char *name_of(int fd, char path[PATH_MAX]) {
  const char *from = getenv("POWER_FROM");
  char link[64];
  struct stat about;
  if (!from || fstat(fd, &about) != 0 || !S_ISREG(about.st_mode)) return NULL;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, PATH_MAX - 1);
  size_t prefix = strlen(from);
  if (length < 0) return NULL;
  path[length] = 0;
  if (strncmp(path, from, prefix) != 0 || path[prefix] != '/' || strchr(path + prefix + 1, '/')) return NULL;
  return path + prefix + 1;
}

static void keep(int fd) {
  const char *to = getenv("POWER_TO");
  char path[PATH_MAX];
  int before = errno;
  const char *name = to ? name_of(fd, path) : NULL;
  if (name) copy(fd, to, name);
  errno = before;
}

/* Of writes and syncs. */
static unsigned seen;

static unsigned number(void) {
  static unsigned seed;
  if (!seed) {
    const char *from = getenv("FAIL_SEED");
    seed = from ? (unsigned)atoi(from) : (unsigned)getpid();
  }
  return (unsigned)rand_r(&seed);
}

/* Whether this write or sync fails. */
static int fails(int fd) {
  const char *one_in = getenv("FAIL_ONE_IN");
  char path[PATH_MAX];
  if (!one_in || !name_of(fd, path)) return 0;
  if (++seen <= 100 || number() % atoi(one_in) != 0) return 0;
  errno = number() % 4 == 0 ? ENOSPC : EIO;
  return 1;
}

static int read_fails(int fd) {
  const char *one_in = getenv("FAIL_READ_ONE_IN");
  char path[PATH_MAX];
  if (!one_in || seen <= 100 || !name_of(fd, path)) return 0;
  if (number() % atoi(one_in) != 0) return 0;
  errno = EIO;
  return 1;
}

#define REAL(type, name)                                             \
  static type real;                                                  \
  if (!real) real = (type)dlsym(RTLD_NEXT, #name);

typedef int (*sync_function)(int);

#define WRAP_SYNC(name)                                              \
  int name(int fd) {                                                 \
    REAL(sync_function, name)                                        \
    if (fails(fd)) return -1;                                        \
    int result = real(fd);                                           \
    if (result == 0) keep(fd);                                       \
    return result;                                                   \
  }

typedef ssize_t (*write_function)(int, const void *, size_t, off_t);

#define WRAP_WRITE(name)                                             \
  ssize_t name(int fd, const void *from, size_t size, off_t at) {    \
    REAL(write_function, name)                                       \
    return fails(fd) ? -1 : real(fd, from, size, at);                \
  }

typedef ssize_t (*read_function)(int, void *, size_t, off_t);

#define WRAP_READ(name)                                              \
  ssize_t name(int fd, void *to, size_t size, off_t at) {            \
    REAL(read_function, name)                                        \
    return read_fails(fd) ? -1 : real(fd, to, size, at);             \
  }

WRAP_SYNC(fsync)
WRAP_SYNC(fdatasync)
WRAP_WRITE(pwrite)
WRAP_WRITE(pwrite64)
WRAP_READ(pread)
WRAP_READ(pread64)
