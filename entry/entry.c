/*
 * The program that waits in the placeholder image and starts the step in the step's own image, at most once.
 *
 *   entry wait …                               wait to be asked to stop, then end with 213
 *   entry install DIR [--marks DIR]            copy this program to DIR/entry and make the marks folder usable by all
 *   entry run --mark FILE [--linger SECONDS] -- COMMAND [ARG…]
 *                                              leave the mark, then become COMMAND; in the placeholder image: wait
 *
 * It promises: in the placeholder image it never runs anything; elsewhere COMMAND is begun only after the mark was
 * created by this very process, so a second start of the container runs nothing; and once COMMAND runs, nothing of
 * entry is left: environment, signals, open files and exit code are the command's own.
 *
 * It has no libc: it runs in images that hold nothing else, and its bytes depend on the compiler alone. Names, codes
 * and report words are those of src/image/placeholder.ts.
 */
#include "system.h"

enum {
  CODE_PLACEHOLDER = 213,
  CODE_ALREADY_RAN = 214,
  CODE_NO_MARK = 215,
  CODE_USAGE = 216,
  CODE_NOT_EXECUTABLE = 126,
  CODE_NOT_FOUND = 127,
  CODE_INSTALL_FAILED = 1,
  CODE_SIGNAL = 128, /* plus the signal's number, as a shell reports it */
};

static const char marker[] = "/podwright-placeholder";
static const char termination_log[] = "/dev/termination-log"; /* Kubernetes' default terminationMessagePath */
/* What container runtimes set where an image sets none. */
static const char default_path[] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

static NORETURN void wait_for_stop(void);
static NORETURN void install(char **arguments);
static NORETURN void run(char **arguments, char **environment);
static NORETURN void become(char **command, char **environment);

static bool same(const char *a, const char *b) {
  while (*a && *a == *b) a++, b++;
  return *a == *b;
}

/* ---- reports: one line on stderr and in the container's termination message ---- */

enum { REPORT_SIZE = 1024 }; /* Kubernetes keeps 4096 bytes of one message */

static unsigned long append(char *line, unsigned long length, const char *text) {
  for (; *text && length < REPORT_SIZE - 1; text++) line[length++] = (unsigned char)*text < ' ' ? '?' : *text;
  return length;
}

static void write_all(int file, const char *bytes, unsigned long length) {
  while (length > 0) {
    long written = sys_write(file, bytes, length);
    if (written == -EINTR) continue;
    if (written <= 0) return; /* a report that cannot be written has nobody to be reported to */
    bytes += written;
    length -= (unsigned long)written;
  }
}

/* The first part is what programs match on; the rest, up to a null, is for people. */
#define REPORT(loud, ...) report(loud, (const char *const[]){__VA_ARGS__, 0})
#define END(code, loud, ...) do { REPORT(loud, __VA_ARGS__); sys_exit(code); } while (0)
enum { QUIET = 0, LOUD = 1 };

static void report(int loud, const char *const *parts) {
  char line[REPORT_SIZE];
  unsigned long length = append(line, 0, "podwright-entry: ");
  for (; *parts; parts++) length = append(line, length, *parts);
  line[length++] = '\n';
  if (loud) write_all(2, line, length);
  int log = (int)sys_openat(AT_FDCWD, termination_log, O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0);
  if (log >= 0) write_all(log, line, length);
}

static const char *reason(long error) {
  switch (-error) {
  case EPERM: return "operation not permitted";
  case ENOENT: return "no such file or directory";
  case EIO: return "input/output error";
  case E2BIG: return "argument list too long";
  case ENOEXEC: return "not a program for this machine, nor a script with a #! line";
  case ENOMEM: return "out of memory";
  case EACCES: return "permission denied";
  case ENOTDIR: return "not a directory";
  case EISDIR: return "is a directory";
  case ETXTBSY: return "open for writing";
  case ENOSPC: return "no space left";
  case EROFS: return "read-only file system";
  case ENAMETOOLONG: return "name too long";
  case ELOOP: return "too many symbolic links";
  case EDQUOT: return "disk quota exceeded";
  default: return "unexpected error";
  }
}

/* ---- start ---- */

NORETURN void entry(long *stack) {
  long count = stack[0];
  char **arguments = (char **)(stack + 1);
  char **environment = arguments + count + 1;
  const char *verb = count > 1 ? arguments[1] : "";
  if (same(verb, "install")) install(arguments + 2);
  /* Whatever the arguments: they are the step's, and this is not its image yet. */
  if (same(verb, "wait") || sys_faccessat(AT_FDCWD, marker, F_OK) == 0) wait_for_stop();
  if (same(verb, "run")) run(arguments + 2, environment);
  END(CODE_USAGE, LOUD, "usage: expected wait, install or run, got \"", verb, "\"");
}

/* ---- wait ---- */

#define SIGNAL(number) (1UL << ((number) - 1))
/* All but those that a process cannot block, that report its own faults, or whose default is not to end it. */
static const unsigned long stop_signals =
    ~(SIGNAL(SIGKILL) | SIGNAL(SIGSTOP) | SIGNAL(SIGILL) | SIGNAL(SIGTRAP) | SIGNAL(SIGABRT) | SIGNAL(SIGBUS) |
      SIGNAL(SIGFPE) | SIGNAL(SIGSEGV) | SIGNAL(SIGSYS) | SIGNAL(SIGCHLD) | SIGNAL(SIGCONT) | SIGNAL(SIGTSTP) |
      SIGNAL(SIGTTIN) | SIGNAL(SIGTTOU) | SIGNAL(SIGURG) | SIGNAL(SIGWINCH) | SIGNAL(SIGPIPE));

static const char *signal_name(long number) {
  switch (number) {
  case SIGTERM: return "SIGTERM";
  case SIGINT: return "SIGINT";
  case SIGQUIT: return "SIGQUIT";
  case SIGHUP: return "SIGHUP";
  default: return "a signal";
  }
}

/* Blocked signals reach a process 1 too; those left at their default would be dropped by the kernel. */
static void wait_for_stop(void) {
  long number;
  sys_rt_sigprocmask(SIG_BLOCK, &stop_signals, 0);
  do number = sys_rt_sigtimedwait(&stop_signals, 0);
  while (number < 0);
  /* Quiet: the log of the container is the step's. */
  END(CODE_PLACEHOLDER, QUIET, "placeholder: ended by ", signal_name(number), ", no step ran");
}

/* ---- run ---- */

/*
 * A kubelet removes the log of the instance before as soon as the next one has ended. So a second start can stay for
 * a while: the step's log can then still be read. Asked to stop, it ends at once.
 */
static NORETURN void refuse_second_start(const char *mark, long linger_seconds) {
  const struct timespec linger = {linger_seconds, 0};
  REPORT(LOUD, "already-ran: this container began its step before (", mark, " is there); nothing was run");
  while (sys_rt_sigtimedwait(&stop_signals, &linger) == -EINTR);
  sys_exit(CODE_ALREADY_RAN);
}

/* Returns only if this process created the mark. */
static void leave_mark(const char *mark, long linger_seconds) {
  long file = sys_openat(AT_FDCWD, mark, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
  if (file == -EEXIST) refuse_second_start(mark, linger_seconds);
  if (file < 0) END(CODE_NO_MARK, LOUD, "no-mark: cannot create ", mark, ": ", reason(file), "; nothing was run");
  /* The mark must outlive a crash of the node. EINVAL: a file system without fsync. */
  long synced = sys_fsync((int)file);
  if (synced < 0 && synced != -EINVAL) {
    END(CODE_NO_MARK, LOUD, "no-mark: cannot keep ", mark, ": ", reason(synced), "; nothing was run");
  }
}

/* A whole number of at most a day, or -1. */
static long seconds_of(const char *text) {
  long seconds = 0;
  if (!text || !*text) return -1;
  for (; *text; text++) {
    if (*text < '0' || *text > '9') return -1;
    seconds = seconds * 10 + (*text - '0');
    if (seconds > 86400) return -1;
  }
  return seconds;
}

static void run(char **arguments, char **environment) {
  const char *mark = 0;
  long linger = 0;
  for (; *arguments && !same(*arguments, "--"); arguments += 2) {
    const char *option = arguments[0], *value = arguments[1];
    if (same(option, "--mark")) {
      if (mark || !value || value[0] != '/') END(CODE_USAGE, LOUD, "usage: --mark wants an absolute path, once");
      mark = value;
    } else if (same(option, "--linger")) {
      linger = seconds_of(value);
      if (linger < 0) END(CODE_USAGE, LOUD, "usage: --linger wants whole seconds, at most 86400");
    } else END(CODE_USAGE, LOUD, "usage: run has no option \"", option, "\"");
  }
  if (!mark || !*arguments || !arguments[1]) {
    END(CODE_USAGE, LOUD, "usage: run --mark FILE [--linger SECONDS] -- COMMAND [ARG...]");
  }

  unsigned long mask;
  const struct timespec now = {0, 0};
  sys_rt_sigprocmask(SIG_BLOCK, &stop_signals, &mask);
  leave_mark(mark, linger);
  /* Asked to stop in the meantime: process 1 would never hear of it once the mask is restored. */
  long number = sys_rt_sigtimedwait(&stop_signals, &now);
  if (number > 0) {
    END(CODE_SIGNAL + (int)number, LOUD, "canceled: ended by ", signal_name(number), " before the step began");
  }
  sys_rt_sigprocmask(SIG_SETMASK, &mask, 0);
  become(arguments + 1, environment);
}

/* ---- exec, with execvp's look-up but without its shell for files of unknown format ---- */

static bool is_missing(long error) {
  return error == -ENOENT || error == -ENOTDIR || error == -EACCES || error == -ENODEV || error == -ESTALE ||
         error == -ETIMEDOUT;
}

/* Returns only if there is no such file, so that the search can go on; `refused` tells of a file that was there. */
static long try(const char *path, char **command, char **environment, long refused) {
  long error = sys_execve(path, command, environment);
  if (!is_missing(error)) END(CODE_NOT_EXECUTABLE, LOUD, "not-executable: ", path, ": ", reason(error));
  return sys_faccessat(AT_FDCWD, path, F_OK) == 0 ? error : refused;
}

static NORETURN void give_up(const char *name, const char *where, const char *path, long refused) {
  if (refused == -EACCES) {
    END(CODE_NOT_EXECUTABLE, LOUD, "not-executable: ", name, ": permission denied, or a directory");
  }
  if (refused) END(CODE_NOT_EXECUTABLE, LOUD, "not-executable: ", name, ": its interpreter or loader is missing");
  END(CODE_NOT_FOUND, LOUD, "not-found: ", name, where, path);
}

/* The value of PATH, or null. */
static const char *path_of(char **environment) {
  for (; *environment; environment++) {
    const char *text = *environment;
    if (text[0] == 'P' && text[1] == 'A' && text[2] == 'T' && text[3] == 'H' && text[4] == '=') return text + 5;
  }
  return 0;
}

static bool has_slash(const char *name) {
  for (; *name; name++)
    if (*name == '/') return true;
  return false;
}

static void become(char **command, char **environment) {
  const char *name = command[0];
  const char *path = path_of(environment);
  long refused = 0;
  if (!path) path = default_path;
  if (has_slash(name)) give_up(name, ": no such file", "", try(name, command, environment, 0));
  for (const char *rest = path; *name;) {
    char file[PATH_MAX];
    unsigned long length = 0;
    /* An empty entry is the working directory. */
    for (; *rest && *rest != ':'; rest++)
      if (length < PATH_MAX) file[length++] = *rest;
    if (length > 0 && length < PATH_MAX) file[length++] = '/';
    for (const char *from = name; *from && length < PATH_MAX; from++) file[length++] = *from;
    if (length < PATH_MAX) {
      file[length] = 0;
      refused = try(file, command, environment, refused);
    }
    if (!*rest++) break;
  }
  give_up(*name ? name : "\"\"", ": not in PATH=", path, refused);
}

/* ---- install ---- */

static NORETURN void install_failed(const char *what, const char *where, long error) {
  END(CODE_INSTALL_FAILED, LOUD, "install-failed: ", what, where, ": ", reason(error));
}

/* Steps may run as any user: all may create a mark, none may remove another's. */
static void open_to_all(const char *directory) {
  long file = sys_openat(AT_FDCWD, directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
  if (file < 0) install_failed("cannot open ", directory, file);
  long mode = sys_mode((int)file);
  if (mode < 0) install_failed("cannot read the mode of ", directory, mode);
  long changed = sys_fchmod((int)file, (unsigned)((mode & 07777) | 01777));
  /* Not the owner: then it must be open already, as an emptyDir is. */
  if (changed < 0 && (mode & 0777) != 0777) install_failed("cannot open to all users ", directory, changed);
}

static void copy(int to, const char *directory) {
  char bytes[16384];
  long from = sys_openat(AT_FDCWD, "/proc/self/exe", O_RDONLY | O_CLOEXEC, 0);
  if (from < 0) install_failed("cannot open ", "/proc/self/exe", from);
  for (;;) {
    long length = sys_read((int)from, bytes, sizeof bytes);
    if (length == -EINTR) continue;
    if (length < 0) install_failed("cannot read ", "/proc/self/exe", length);
    if (length == 0) return;
    for (long done = 0; done < length;) {
      long written = sys_write(to, bytes + done, (unsigned long)(length - done));
      if (written == -EINTR) continue;
      if (written <= 0) install_failed("cannot write to ", directory, written);
      done += written;
    }
  }
}

static void install(char **arguments) {
  static const char name[] = "entry", half[] = ".entry.new";
  const char *directory = arguments[0];
  const char *marks = 0;
  if (directory && arguments[1] && same(arguments[1], "--marks")) marks = arguments[2];
  if (!directory || (arguments[1] && (!marks || arguments[3]))) {
    END(CODE_USAGE, LOUD, "usage: install DIR [--marks DIR]");
  }
  if (marks) open_to_all(marks);

  long at = sys_openat(AT_FDCWD, directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
  if (at < 0) install_failed("cannot open ", directory, at);
  sys_unlinkat((int)at, half, 0); /* what an interrupted install left; if this fails the next line tells */
  long file = sys_openat((int)at, half, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
  if (file < 0) install_failed("cannot write to ", directory, file);
  copy((int)file, directory);
  long error = sys_fchmod((int)file, 0555);
  if (error == 0) error = sys_fsync((int)file);
  if (error == 0) error = sys_close((int)file); /* or else a start of it could find it open for writing */
  if (error == 0) error = sys_renameat((int)at, half, (int)at, name);
  if (error == 0) error = sys_fsync((int)at);
  if (error < 0 && error != -EINVAL) install_failed("cannot finish in ", directory, error);
  if (sys_faccessat((int)at, name, X_OK) < 0) {
    END(CODE_INSTALL_FAILED, LOUD, "install-failed: programs may not be executed in ", directory, " (noexec)");
  }
  sys_exit(0);
}
