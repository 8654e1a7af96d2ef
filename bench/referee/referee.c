/* The referee: a second opinion on latencies at a constant rate, which shares no code with loadstone.
 *
 * One thread polls: it sends each request at its intended time, or as soon as a connection is free, looks for replies
 * whenever it does not send, and never sleeps. Latency is from the intended time to when the whole reply was read. All
 * latencies are kept and sorted, so that quantiles need no histogram. Nothing else runs while it measures.
 *
 * Build: cc -O2 -o referee referee.c
 * Use:   referee PORT redis get|set BYTES CONNECTIONS RATE SECONDS CPU [PREFIX]
 *        referee PORT http PATH 0 CONNECTIONS RATE SECONDS CPU
 * Prints one line of JSON; times in nanoseconds. Exit status 1: something failed, with the reason on stderr. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { KEYS = 10000, BUFFER = 1 << 21 };
static const uint64_t SECOND = 1000000000ull, WARM_UP = 500000000ull, DRAIN = 1000000000ull;

struct connection {
    int fd;
    uint64_t intended; /* of the request under way */
    size_t have;
    char *in;
};

static uint64_t now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * SECOND + (uint64_t)time.tv_nsec;
}

static void fail(const char *what) {
    fprintf(stderr, "referee: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* The length of the first whole reply; 0: it is not whole; -1: it is none, or an error. */
static long redis_reply(const char *in, size_t have) {
    const char *end = memmem(in, have, "\r\n", 2);
    if (end == NULL) return 0;
    long head = end - in + 2;
    if (in[0] == '+' || in[0] == ':') return head;
    if (in[0] != '$') return -1;
    long body = strtol(in + 1, NULL, 10);
    if (body < 0) return head;
    return (long)have >= head + body + 2 ? head + body + 2 : 0;
}

static long http_reply(char *in, size_t have) {
    char *end = memmem(in, have, "\r\n\r\n", 4);
    if (end == NULL) return 0;
    if (have < 12 || memcmp(in, "HTTP/1.1 2", 10) != 0) return -1;
    long head = end - in + 4;
    *end = 0;
    char *length = strcasestr(in, "\r\ncontent-length:");
    long body = length == NULL ? -1 : strtol(length + 17, NULL, 10);
    *end = '\r';
    if (body < 0) return -1;
    return (long)have >= head + body ? head + body : 0;
}

static int in_order(const void *a, const void *b) {
    uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;
    return (one > other) - (one < other);
}

static uint64_t quantile(const uint64_t *sorted, size_t count, double share) {
    size_t rank = (size_t)(share * (double)count + 0.999999);
    return count == 0 ? 0 : sorted[rank < 1 ? 0 : rank > count ? count - 1 : rank - 1];
}

static int open_connection(int port) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;
    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to) != 0) fail("connect");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    if (fcntl(fd, F_SETFL, O_NONBLOCK) != 0) fail("fcntl");
    return fd;
}

int main(int count, char **arguments) {
    if (count < 9) {
        fprintf(stderr, "use: referee PORT redis get|set BYTES | http PATH 0, then CONNECTIONS RATE SECONDS CPU [PREFIX]\n");
        return 1;
    }
    int port = atoi(arguments[1]), is_http = strcmp(arguments[2], "http") == 0;
    int is_set = !is_http && strcmp(arguments[3], "set") == 0;
    size_t bytes = (size_t)atol(arguments[4]), connections = (size_t)atol(arguments[5]);
    double rate = atof(arguments[6]), seconds = atof(arguments[7]);
    const char *prefix = count > 9 ? arguments[9] : "loadstone:referee:";
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(atoi(arguments[8]), &cpus);
    if (sched_setaffinity(0, sizeof cpus, &cpus) != 0) fail("affinity");
    prctl(PR_SET_TIMERSLACK, 1ul);

    struct connection *all = calloc(connections, sizeof *all);
    size_t *idle = calloc(connections, sizeof *idle), idle_first = 0, idle_count = connections;
    int poll = epoll_create1(EPOLL_CLOEXEC);
    for (size_t at = 0; at < connections; at++) {
        all[at].fd = open_connection(port);
        all[at].in = malloc(BUFFER);
        idle[at] = at;
        struct epoll_event event = {.events = EPOLLIN, .data.u64 = at};
        if (epoll_ctl(poll, EPOLL_CTL_ADD, all[at].fd, &event) != 0) fail("epoll");
    }
    uint64_t between = (uint64_t)((double)SECOND / rate), due = (uint64_t)(rate * (seconds + 0.5)) + 1;
    uint64_t *latencies = malloc((size_t)due * sizeof *latencies), *sent_late = malloc((size_t)due * sizeof *sent_late);
    size_t ended = 0, sent_measured = 0, failed = 0;
    size_t longest = bytes + 512;
    char *out = malloc(longest), *value = malloc(bytes + 1);
    for (size_t at = 0; at < bytes; at++) value[at] = (char)('a' + (at * 31 + at / 7) % 26);
    srand(7);

    uint64_t begin = now_ns() + 1000000, measure = begin + WARM_UP, until = measure + (uint64_t)(seconds * 1e9);
    uint64_t next = begin, last = until + DRAIN, number = 0;
    struct epoll_event events[64];
    for (uint64_t now = now_ns(); now < last; now = now_ns()) {
        while (next <= now && next < until && idle_count > 0) {
            struct connection *one = &all[idle[idle_first]];
            idle_first = (idle_first + 1) % connections;
            idle_count--;
            char key[96];
            int key_length = snprintf(key, sizeof key, "%s%d", prefix, rand() % KEYS), length;
            if (is_http)
                length = snprintf(out, longest, "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n", arguments[3], port);
            else if (is_set) {
                length = snprintf(out, longest, "*3\r\n$3\r\nSET\r\n$%d\r\n%s\r\n$%zu\r\n", key_length, key, bytes);
                memcpy(out + length, value, bytes);
                memcpy(out + length + bytes, "\r\n", 2);
                length += (int)bytes + 2;
            } else
                length = snprintf(out, longest, "*2\r\n$3\r\nGET\r\n$%d\r\n%s\r\n", key_length, key);
            one->intended = next;
            uint64_t sending = now_ns();
            if (send(one->fd, out, (size_t)length, MSG_NOSIGNAL) != length) fail("send");
            if (next >= measure) sent_late[sent_measured++] = sending - next;
            next += between;
            number++;
            if (number % 4 == 0) break; /* replies are not left lying behind a burst */
        }
        int ready = epoll_wait(poll, events, 64, 0);
        for (int at = 0; at < ready; at++) {
            struct connection *one = &all[events[at].data.u64];
            ssize_t got = recv(one->fd, one->in + one->have, BUFFER - one->have, 0);
            if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
            if (got <= 0) fail("receive");
            one->have += (size_t)got;
            long whole = is_http ? http_reply(one->in, one->have) : redis_reply(one->in, one->have);
            if (whole == 0) continue;
            uint64_t came = now_ns();
            failed += whole < 0;
            one->have = 0;
            if (one->intended >= measure) latencies[ended++] = came - one->intended;
            idle[(idle_first + idle_count++) % connections] = (size_t)events[at].data.u64;
        }
        if (next >= until && idle_count == connections) break;
    }
    qsort(latencies, ended, sizeof *latencies, in_order);
    qsort(sent_late, sent_measured, sizeof *sent_late, in_order);
    printf("{\"sent\": %zu, \"ended\": %zu, \"failed\": %zu, \"min\": %lu, \"p50\": %lu, \"p95\": %lu, \"p99\": %lu, "
           "\"p999\": %lu, \"max\": %lu, \"sent_late_p99\": %lu}\n",
           sent_measured, ended, failed, quantile(latencies, ended, 0), quantile(latencies, ended, .5),
           quantile(latencies, ended, .95), quantile(latencies, ended, .99), quantile(latencies, ended, .999),
           quantile(latencies, ended, 1), quantile(sent_late, sent_measured, .99));
    return failed > 0;
}
