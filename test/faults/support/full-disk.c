// Preloaded into a process (LD_PRELOAD), it makes writes fail as on a full disk. While the file
// that PRECEDENT_TEST_FULL names exists, writes to files whose path contains the text in it fail
// with ENOSPC. A refused write writes nothing or, every other time, whole pages of it, as on a disk
// that fills up in the middle of a record. Queries for free space return none.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#define REAL(name) \
  static __typeof__(&name) real; \
  if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

static int is_full_path(const char *path) {
  static const char *flag;
  if (!flag && !(flag = getenv("PRECEDENT_TEST_FULL"))) return 0;
  if (access(flag, F_OK) != 0) return 0;
  char which[4096];
  int file = open(flag, O_RDONLY | O_CLOEXEC);
  ssize_t length = file < 0 ? -1 : read(file, which, sizeof which - 1);
  if (file >= 0) close(file);
  if (length <= 0) return 0;
  which[length] = 0;
  return strstr(path, which) != NULL;
}
static int is_full(int fd) {
  int before = errno;
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t named = readlink(link, path, sizeof path - 1);
  int full = named > 0 && path[0] == '/' && (path[named] = 0, is_full_path(path));
  errno = before;
  return full;
}
static int refuse(void) {
  errno = ENOSPC;
  return -1;
}
static size_t pages(size_t count) {
  static int turn;
  return (__atomic_fetch_add(&turn, 1, __ATOMIC_RELAXED) & 1) ? (count / 2) & ~(size_t)4095 : 0;
}

ssize_t write(int fd, const void *bytes, size_t count) {
  REAL(write);
  if (!is_full(fd)) return real(fd, bytes, count);
  size_t some = pages(count);
  return some ? real(fd, bytes, some) : refuse();
}
ssize_t pwrite(int fd, const void *bytes, size_t count, off_t at) {
  REAL(pwrite);
  if (!is_full(fd)) return real(fd, bytes, count, at);
  size_t some = pages(count);
  return some ? real(fd, bytes, some, at) : refuse();
}
ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t at) {
  REAL(pwrite64);
  if (!is_full(fd)) return real(fd, bytes, count, at);
  size_t some = pages(count);
  return some ? real(fd, bytes, some, at) : refuse();
}
ssize_t writev(int fd, const struct iovec *parts, int count) {
  REAL(writev);
  return is_full(fd) ? refuse() : real(fd, parts, count);
}
ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t at) {
  REAL(pwritev);
  return is_full(fd) ? refuse() : real(fd, parts, count, at);
}
ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t at) {
  REAL(pwritev64);
  return is_full(fd) ? refuse() : real(fd, parts, count, at);
}
int posix_fallocate64(int fd, off64_t at, off64_t length) {
  REAL(posix_fallocate64);
  return is_full(fd) ? ENOSPC : real(fd, at, length);
}
int fallocate64(int fd, int mode, off64_t at, off64_t length) {
  REAL(fallocate64);
  return is_full(fd) ? refuse() : real(fd, mode, at, length);
}
int statvfs(const char *path, struct statvfs *it) {
  REAL(statvfs);
  int code = real(path, it);
  if (code == 0 && is_full_path(path)) it->f_bavail = it->f_bfree = 0;
  return code;
}
int statvfs64(const char *path, struct statvfs64 *it) {
  REAL(statvfs64);
  int code = real(path, it);
  if (code == 0 && is_full_path(path)) it->f_bavail = it->f_bfree = 0;
  return code;
}
