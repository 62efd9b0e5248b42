/* lab-relay: copies standard input to standard output, from the script's pipe to the port that QEMU reads.
 *
 * The script gets a pipe and not the port itself, which only one process may open (`tee /dev/stderr` would fail).
 * When the script has ended, init sends SIGTERM: what is in the pipe still goes out, then the relay ends, although a
 * daemon that the script left behind may hold the pipe open.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

static void finish(int signal)
{
	(void)signal;
	fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK); /* from here on an empty pipe is the end */
}

int main(void)
{
	static char buffer[65536];
	struct sigaction action = {.sa_handler = finish}; /* no SA_RESTART: a waiting read returns */

	sigaction(SIGTERM, &action, NULL);
	for (;;) {
		ssize_t got = read(STDIN_FILENO, buffer, sizeof(buffer));
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return 0;
		for (ssize_t done = 0; done < got;) {
			ssize_t put = write(STDOUT_FILENO, buffer + done, (size_t)(got - done));
			if (put < 0 && errno == EINTR)
				continue;
			if (put < 0)
				return 1;
			done += put;
		}
	}
}
