/*
 * A disk that keeps only what was synced, for one directory: after each fsync or fdatasync of a file below POWER_FROM, the file as
 * it is then is copied to POWER_TO, as `<time>-<name>`. The last copies of all files up to some time are what a power cut at that
 * time would leave at worst. The time is in microseconds, of the clock that all processes share, and of the end of the copy.
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

static void keep(int fd) {
  const char *from = getenv("POWER_FROM"), *to = getenv("POWER_TO");
  char link[64], path[PATH_MAX];
  struct stat about;
  if (!from || !to || fstat(fd, &about) != 0 || !S_ISREG(about.st_mode)) return;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  size_t prefix = strlen(from);
  if (length < 0) return;
  path[length] = 0;
  if (strncmp(path, from, prefix) != 0 || path[prefix] != '/' || strchr(path + prefix + 1, '/')) return;
  int before = errno;
  copy(fd, to, path + prefix + 1);
  errno = before;
}

typedef int (*sync_function)(int);

#define WRAP(name)                                                   \
  int name(int fd) {                                                 \
    static sync_function real;                                       \
    if (!real) real = (sync_function)dlsym(RTLD_NEXT, #name);        \
    int result = real(fd);                                           \
    if (result == 0) keep(fd);                                       \
    return result;                                                   \
  }

WRAP(fsync)
WRAP(fdatasync)
