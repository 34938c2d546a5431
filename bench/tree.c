/* A leader and its descendants, as an agent and its tools are.

     tree MARK DIRECTORY GROUP SESSIONS STUBBORN FILE

   GROUP of them stay in its group; SESSIONS are in sessions of their own, ten in each, as what the shells of the real
   agents start. All of a role hold the fifo of its name in DIRECTORY ("-": none) open for writing: when it ends for its
   reader, they are dead. Each says one byte to it when it is there. A STUBBORN leader is deaf to signals. At last it
   prints FILE, and all stay for two minutes; with ENDS_WITH_INPUT in its environment, a polite leader ends with its
   standard input. MARK is for those who know them by their command line. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *directory;

static void be(const char *role) {
  char path[512];
  alarm(120);
  if (!strcmp(directory, "-")) return;
  snprintf(path, sizeof path, "%s/%s", directory, role);
  int file = open(path, O_WRONLY);
  if (file < 0 || write(file, "x", 1) != 1) _exit(4);
}

static int born(const char *role) {
  pid_t child = fork();
  if (child < 0) _exit(4);
  if (child > 0) return 0;
  be(role);
  return 1;
}

static void stay(void) {
  for (;;) pause();
}

int main(int argc, char **argv) {
  if (argc != 7) return 2;
  directory = argv[2];
  int group = atoi(argv[3]), sessions = atoi(argv[4]);
  /* Nobody is a zombie for the sake of a parent that does not look. */
  signal(SIGCHLD, SIG_IGN);
  for (int i = 0; i < group; i++)
    if (born("group")) stay();
  for (int i = 0; i < sessions; i += 10) {
    pid_t shell = fork();
    if (shell < 0) return 4;
    if (shell > 0) continue;
    setsid();
    be("sessions");
    for (int j = i + 1; j < i + 10 && j < sessions; j++)
      if (born("sessions")) break;
    stay();
  }
  if (atoi(argv[5])) {
    int signals[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};
    for (int i = 0; i < 4; i++) signal(signals[i], SIG_IGN);
  }
  be("leader");
  int file = open(argv[6], O_RDONLY);
  char bytes[65536];
  for (ssize_t n; (n = read(file, bytes, sizeof bytes)) > 0;)
    if (write(1, bytes, n) < 0) break;
  if (getenv("ENDS_WITH_INPUT") && !atoi(argv[5])) {
    while (read(0, bytes, sizeof bytes) > 0) continue;
    return 0;
  }
  stay();
}
