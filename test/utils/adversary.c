/* Processes that hide from whoever looks for them, or will not end.

     adversary LEDGER "WORD..." TAG

   Each word is something that it does, in this order; then it says "ready PID" in the file LEDGER ("-" is its standard
   output) and stays, for two minutes at most. TAG is for those who know it by its command line. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef RLIMIT_LOCKS
#define RLIMIT_LOCKS 10
#endif

extern char **environ;

static const char *ledger;

static void say(void) {
  char line[32];
  int length = snprintf(line, sizeof line, "ready %d\n", (int)getpid());
  int file = strcmp(ledger, "-") ? open(ledger, O_WRONLY | O_APPEND) : 1;
  if (file < 0 || write(file, line, length) < 0) _exit(4);
  if (file > 2) close(file);
}

static void quiet(void) {
  int null = open("/dev/null", O_RDWR);
  for (int file = 0; file < 3; file++) dup2(null, file);
}

static void stay(void) {
  quiet();
  for (int second = 0; second < 120; second++) sleep(1);
  _exit(0);
}

static void orphan(void) {
  if (fork() > 0) _exit(0);
}

static void deaf(void) {
  int signals[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};
  for (int i = 0; i < 4; i++) signal(signals[i], SIG_IGN);
}

/* Over the arguments and the environment, as servers write their titles. */
static void title(char **argv, char *last, const char *tag) {
  char text[256];
  snprintf(text, sizeof text, "sleeper %s", tag);
  char *end = last + strlen(last);
  for (char **name = environ; *name; name++) end = *name + strlen(*name);
  size_t room = end - argv[0];
  memset(argv[0], 0, room);
  strncpy(argv[0], text, room - 1);
}

static void *say_late(void *unused) {
  usleep(100000);
  say();
  stay();
  return unused;
}

/* The first thread ends: the process table shows a zombie. */
static void headless(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, say_late, NULL);
  pthread_exit(NULL);
}

static void zombies(void) {
  siginfo_t info;
  for (int i = 0; i < 20; i++) {
    pid_t child = fork();
    if (child == 0) _exit(0);
    waitid(P_PID, child, &info, WEXITED | WNOWAIT);
  }
}

/* The tracer of a child in a session of its own, which goes on or stays stopped by it. */
static void trace(int stopped) {
  int ways[2];
  char byte;
  if (pipe(ways) < 0) _exit(4);
  pid_t child = fork();
  if (child == 0) {
    setsid();
    if (write(ways[1], "", 1) < 0) _exit(4);
    stay();
  }
  if (read(ways[0], &byte, 1) < 0 || ptrace(PTRACE_SEIZE, child, 0, 0) < 0) _exit(4);
  if (!stopped) return;
  ptrace(PTRACE_INTERRUPT, child, 0, 0);
  waitpid(child, NULL, __WALL);
}

/* So many processes with this one, of which some are in sessions of their own. */
static void tree(int size) {
  const int arms = 8;
  int left = size - 1;
  for (int arm = arms; arm > 0 && left > 0; arm--) {
    int share = (left + arm - 1) / arm;
    left -= share;
    pid_t child = fork();
    if (child < 0) _exit(4);
    if (child > 0) continue;
    if (arm == 1) setsid();
    size = left = share;
    left--;
    arm = arms + 1;
  }
}

/* A successor each generation, which is all that is ever alive of it. */
static void run_away(int new_group, int new_session, int pause) {
  time_t began = time(NULL);
  say();
  quiet();
  for (;;) {
    if (pause > 0) usleep(pause);
    pid_t child = fork();
    if (child < 0) continue;
    if (child > 0) _exit(0);
    if (new_session) setsid();
    else if (new_group) setpgid(0, 0);
    if (time(NULL) - began > 20) _exit(0);
  }
}

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  ledger = strdup(argv[1]);
  char *words = strdup(argv[2]), *tag = strdup(argv[3]), *rest = words, *word;
  int pause = 0, stop = 0;
  while ((word = strsep(&rest, " ")) != NULL) {
    if (!strcmp(word, "orphan")) orphan();
    else if (!strcmp(word, "group")) setpgid(0, 0);
    else if (!strcmp(word, "session")) setsid();
    else if (!strcmp(word, "daemon")) {
      orphan();
      setsid();
      orphan();
      if (chdir("/") < 0) return 4;
    } else if (!strcmp(word, "bare")) {
      /* Goes on without environment. */
      char *args[] = {argv[0], argv[1], rest == NULL ? "plain" : rest, argv[3], NULL}, *none[] = {NULL};
      execve("/proc/self/exe", args, none);
      return 4;
    } else if (!strcmp(word, "plain")) continue;
    else if (!strcmp(word, "deaf")) deaf();
    else if (!strcmp(word, "title")) title(argv, argv[3], tag);
    else if (!strcmp(word, "undumpable")) prctl(PR_SET_DUMPABLE, 0);
    else if (!strcmp(word, "headless")) headless();
    else if (!strcmp(word, "zombies")) zombies();
    else if (!strcmp(word, "stop")) stop = 1;
    else if (!strcmp(word, "trace")) trace(0);
    else if (!strcmp(word, "trace-stopped")) trace(1);
    else if (!strcmp(word, "lower")) {
      /* Takes off the mark that is a limit. */
      struct rlimit none = {0, 0};
      if (setrlimit(RLIMIT_LOCKS, &none) < 0) return 4;
    } else if (!strcmp(word, "user")) {
      /* Installed as set-uid root: another user altogether. */
      if (setgid(0) || setuid(0)) return 3;
    } else if (sscanf(word, "tree=%d", &pause) == 1) tree(pause);
    else if (!strcmp(word, "slow")) pause = 1000;
    else if (!strcmp(word, "runaway")) run_away(0, 0, pause);
    else if (!strcmp(word, "runaway-group")) run_away(1, 0, pause);
    else if (!strcmp(word, "runaway-session")) run_away(0, 1, pause);
    else return 2;
  }
  say();
  if (stop) {
    quiet();
    raise(SIGSTOP);
  }
  stay();
}
