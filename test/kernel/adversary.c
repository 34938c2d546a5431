/* Processes that hide from whoever looks for them. Each says "ready <pid>" on its standard output when it is what it is
   called, and none lives longer than about a minute. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static void ready(void) {
  printf("ready %d\n", (int)getpid());
  fflush(stdout);
}

static void quiet(void) {
  int null = open("/dev/null", O_RDWR);
  dup2(null, 0);
  dup2(null, 1);
  dup2(null, 2);
}

static void daemonise(void) {
  if (fork() > 0) _exit(0);
  setsid();
  if (fork() > 0) _exit(0);
}

static void *wait_on(void *unused) {
  usleep(100000);
  ready();
  quiet();
  sleep(60);
  _exit(0);
}

/* A successor each generation, which is all that is ever alive of it. */
static void run_away(int new_group, int new_session) {
  time_t began = time(NULL);
  quiet();
  for (;;) {
    pid_t child = fork();
    if (child < 0) continue;
    if (child > 0) _exit(0);
    if (new_session) setsid();
    else if (new_group) setpgid(0, 0);
    if (time(NULL) - began > 20) _exit(0);
  }
}

int main(int argc, char **argv) {
  const char *mode = argc > 1 ? argv[1] : "";
  if (!strcmp(mode, "title")) {
    /* Over the arguments and the environment, as servers write their titles. argv[2] becomes all of it. */
    daemonise();
    char *end = argv[argc - 1] + strlen(argv[argc - 1]);
    for (char **name = environ; *name; name++) end = *name + strlen(*name);
    char title[256];
    snprintf(title, sizeof title, "sleeper %s", argv[2]);
    size_t room = end - argv[0];
    memset(argv[0], 0, room);
    strncpy(argv[0], title, room - 1);
    ready();
    quiet();
    sleep(60);
  } else if (!strcmp(mode, "undumpable")) {
    daemonise();
    prctl(PR_SET_DUMPABLE, 0);
    ready();
    quiet();
    sleep(60);
  } else if (!strcmp(mode, "headless")) {
    pthread_t thread;
    pthread_create(&thread, NULL, wait_on, NULL);
    pthread_exit(NULL);
  } else if (!strcmp(mode, "other-user")) {
    /* Installed as set-uid root: another user altogether. */
    if (setgid(0) || setuid(0)) return 3;
    ready();
    quiet();
    sleep(60);
  } else if (!strcmp(mode, "zombies")) {
    for (int i = 0; i < 20; i++) if (fork() == 0) _exit(0);
    siginfo_t info;
    for (int i = 0; i < 20; i++) usleep(1000);
    waitid(P_ALL, 0, &info, WEXITED | WNOWAIT);
    ready();
    sleep(60);
  } else if (!strcmp(mode, "runaway")) {
    run_away(0, 0);
  } else if (!strcmp(mode, "runaway-group")) {
    run_away(1, 0);
  } else if (!strcmp(mode, "runaway-session")) {
    run_away(0, 1);
  } else if (!strcmp(mode, "runaway-ghost")) {
    if (getenv("PATH") != NULL) {
      char *args[] = {argv[0], argv[1], NULL}, *none[] = {NULL};
      execve(argv[0], args, none);
      return 1;
    }
    run_away(0, 1);
  } else {
    return 2;
  }
  return 0;
}
