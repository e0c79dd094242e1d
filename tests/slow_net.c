/* slow_net.c - a network with a delay, for kernels without tc's netem.
 *
 *     slow_net MILLISECONDS NAMESPACE...
 *
 * Makes a device tun0 in each of the network namespaces, says "ready", and
 * carries packets between them until it is killed: a packet for an address that
 * ends in k goes to the k-th namespace, so many milliseconds after it was sent.
 *
 *     tun0 of a  ->  [packet, when][packet, when] ...  ->  tun0 of b
 *
 * All packets wait equally long, so one queue in the order of arrival serves
 * them all. What does not fit is dropped, as a router would. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { ENDS = 8, QUEUE = 4096, PACKET = 9000, DESTINATION = 16, PATH = 300 };

typedef struct packet {
    double due;
    int to;
    size_t bytes;
    unsigned char data[PACKET];
} packet;

static packet queue[QUEUE];

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Opens tun0 inside of a namespace; the file is usable from everywhere. */
static int open_end(const char *name)
{
    char path[PATH];
    struct ifreq r = {.ifr_flags = IFF_TUN | IFF_NO_PI, .ifr_name = "tun0"};
    snprintf(path, sizeof path, "/run/netns/%.200s", name);
    int ns = open(path, O_RDONLY | O_CLOEXEC), fd = -1;
    if (ns >= 0 && setns(ns, CLONE_NEWNET) == 0)
        fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || ioctl(fd, TUNSETIFF, &r) != 0) {
        perror(name);
        exit(1);
    }
    close(ns);
    return fd;
}

/* Reads all that has arrived at one end. Returns the new end of the queue. */
static size_t take(int fd, int ends, double delay, size_t first, size_t last)
{
    for (;;) {
        packet *p = &queue[last % QUEUE];
        ssize_t n = read(fd, p->data, sizeof p->data);
        if (n <= 0)
            return last;
        p->to = n > DESTINATION + 3 ? p->data[DESTINATION + 3] - 1 : -1;
        p->bytes = (size_t)n;
        p->due = seconds() + delay;
        if (p->data[0] >> 4 == 4 && p->to >= 0 && p->to < ends &&
            last - first < QUEUE - 1)
            last++;
    }
}

int main(int argc, char **argv)
{
    struct pollfd end[ENDS];
    int ends = argc - 2;
    double delay = argc > 1 ? atof(argv[1]) / 1e3 : 0;
    size_t first = 0, last = 0;
    if (ends < 2 || ends > ENDS || !(delay > 0))
        return 2;
    for (int i = 0; i < ends; i++)
        end[i] = (struct pollfd){.fd = open_end(argv[i + 2]), .events = POLLIN};
    puts("ready");
    fflush(stdout);
    for (;;) {
        struct timespec nap = {.tv_sec = 1};
        if (first < last) {
            double left = queue[first % QUEUE].due - seconds();
            nap =
                (struct timespec){.tv_nsec = left > 0 ? (long)(1e9 * left) : 0};
        }
        ppoll(end, (nfds_t)ends, &nap, NULL);
        for (int i = 0; i < ends; i++)
            last = take(end[i].fd, ends, delay, first, last);
        for (double t = seconds();
             first < last && queue[first % QUEUE].due <= t; first++) {
            const packet *p = &queue[first % QUEUE];
            (void)!write(end[p->to].fd, p->data, p->bytes);
        }
    }
}
