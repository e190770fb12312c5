/* Linux' system calls and the few constants entry.c uses, for amd64 and arm64; no header of any libc or kernel is
 * needed. Every call returns what the kernel returns: a negative errno on failure. */
#define NORETURN __attribute__((noreturn))
typedef _Bool bool;
enum { false, true };

/* The kernel's struct timespec on 64-bit machines. */
struct timespec {
  long seconds, nanoseconds;
};

enum { PATH_MAX = 4096, AT_FDCWD = -100, F_OK = 0, X_OK = 1 };
enum { O_RDONLY = 0, O_WRONLY = 1, O_CREAT = 0100, O_EXCL = 0200, O_TRUNC = 01000, O_CLOEXEC = 02000000 };
enum { SIG_BLOCK = 0, SIG_SETMASK = 2 };
enum {
  SIGHUP = 1, SIGINT = 2, SIGQUIT = 3, SIGILL = 4, SIGTRAP = 5, SIGABRT = 6, SIGBUS = 7, SIGFPE = 8, SIGKILL = 9,
  SIGSEGV = 11, SIGPIPE = 13, SIGTERM = 15, SIGCHLD = 17, SIGCONT = 18, SIGSTOP = 19, SIGTSTP = 20, SIGTTIN = 21,
  SIGTTOU = 22, SIGURG = 23, SIGWINCH = 28, SIGSYS = 31,
};
enum {
  EPERM = 1, ENOENT = 2, EINTR = 4, EIO = 5, E2BIG = 7, ENOEXEC = 8, ENOMEM = 12, EACCES = 13, EEXIST = 17,
  ENODEV = 19, ENOTDIR = 20, EISDIR = 21, EINVAL = 22, ETXTBSY = 26, ENOSPC = 28, EROFS = 30, ENAMETOOLONG = 36,
  ELOOP = 40, ETIMEDOUT = 110, ESTALE = 116, EDQUOT = 122,
};

#if defined __x86_64__
enum { O_DIRECTORY = 0200000, O_NOFOLLOW = 0400000 };
enum {
  NR_read = 0, NR_write = 1, NR_close = 3, NR_fstat = 5, NR_rt_sigprocmask = 14, NR_execve = 59, NR_fsync = 74,
  NR_fchmod = 91, NR_rt_sigtimedwait = 128, NR_exit_group = 231, NR_openat = 257, NR_unlinkat = 263,
  NR_renameat = 264, NR_faccessat = 269,
};
enum { STAT_MODE_AT = 24 };
__asm__(".globl _start\n_start:\n xor %ebp, %ebp\n mov %rsp, %rdi\n and $-16, %rsp\n call entry\n");

static inline long call(long number, long a, long b, long c, long d) {
  long result;
  register long r10 __asm__("r10") = d;
  __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
  return result;
}
#elif defined __aarch64__
enum { O_DIRECTORY = 040000, O_NOFOLLOW = 0100000 };
enum {
  NR_unlinkat = 35, NR_renameat = 38, NR_faccessat = 48, NR_fchmod = 52, NR_openat = 56, NR_close = 57, NR_read = 63,
  NR_write = 64, NR_fstat = 80, NR_fsync = 82, NR_exit_group = 94, NR_rt_sigprocmask = 135,
  NR_rt_sigtimedwait = 137, NR_execve = 221,
};
enum { STAT_MODE_AT = 16 };
__asm__(".globl _start\n_start:\n mov x29, #0\n mov x30, #0\n mov x0, sp\n b entry\n");

static inline long call(long number, long a, long b, long c, long d) {
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
  return x0;
}
#else
#error "entry is for amd64 and arm64"
#endif

static inline NORETURN void sys_exit(int code) {
  for (;;) call(NR_exit_group, code, 0, 0, 0);
}
static inline long sys_read(int file, char *bytes, unsigned long length) {
  return call(NR_read, file, (long)bytes, (long)length, 0);
}
static inline long sys_write(int file, const char *bytes, unsigned long length) {
  return call(NR_write, file, (long)bytes, (long)length, 0);
}
static inline long sys_openat(int at, const char *path, int flags, unsigned mode) {
  return call(NR_openat, at, (long)path, flags, mode);
}
static inline long sys_close(int file) { return call(NR_close, file, 0, 0, 0); }
static inline long sys_fsync(int file) { return call(NR_fsync, file, 0, 0, 0); }
static inline long sys_fchmod(int file, unsigned mode) { return call(NR_fchmod, file, mode, 0, 0); }
static inline long sys_faccessat(int at, const char *path, int mode) {
  return call(NR_faccessat, at, (long)path, mode, 0);
}
static inline long sys_unlinkat(int at, const char *path, int flags) {
  return call(NR_unlinkat, at, (long)path, flags, 0);
}
static inline long sys_renameat(int at, const char *from, int to_at, const char *to) {
  return call(NR_renameat, at, (long)from, to_at, (long)to);
}
static inline long sys_execve(const char *path, char **arguments, char **environment) {
  return call(NR_execve, (long)path, (long)arguments, (long)environment, 0);
}
/* Signal sets are 64 bits. `before` may be null. */
static inline long sys_rt_sigprocmask(int how, const unsigned long *set, unsigned long *before) {
  return call(NR_rt_sigprocmask, how, (long)set, (long)before, sizeof *set);
}
/* The number of a pending signal of the set; waits for one at most `timeout`, without end if that is null. */
static inline long sys_rt_sigtimedwait(const unsigned long *set, const struct timespec *timeout) {
  return call(NR_rt_sigtimedwait, (long)set, 0, (long)timeout, sizeof *set);
}
/* The mode of an open file: kind and permissions. */
static inline long sys_mode(int file) {
  unsigned stat[64]; /* struct stat has 144 bytes on amd64, 128 on arm64 */
  long error = call(NR_fstat, file, (long)stat, 0, 0);
  return error < 0 ? error : (long)stat[STAT_MODE_AT / 4];
}
