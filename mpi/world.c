/* world.c - what all ranks agree on: versions, who runs what, how they wait and
 * how they end. */
#include "rank.h"

#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* -- words ----------------------------------------------------------------*/

double rank_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

clv_status rank_fail(clv_err *err, clv_status code, const char *fmt, ...)
{
    va_list ap;
    if (err->code != CLV_OK)
        return err->code;
    va_start(ap, fmt);
    clv_vformat(err->msg, sizeof err->msg, fmt, ap);
    va_end(ap);
    clv_clean_text(err->msg);
    return err->code = code;
}

void rank_say(const rank_world *w, const char *text)
{
    char line[1100];
    snprintf(line, sizeof line, "cleave-mpi: rank %d (%.60s): %s\n", w->rank,
             w->host, text);
    fputs(line, stderr);
    fflush(stderr);
}

enum { ABORT_SECONDS = 2 };

void rank_abort(const rank_world *w, const clv_err *err)
{
    rank_say(w, err->msg);
    if (w->pulse)
        w->pulse->state = RANK_STOPPING;
    signal(SIGALRM, SIG_DFL);
    alarm(ABORT_SECONDS); /* it waits for a launcher that may be gone */
    MPI_Abort(MPI_COMM_WORLD, clv_status_exit(err->code));
    abort();
}

/* -- waiting --------------------------------------------------------------*/

/* With a core for each rank it pays to look often for a while; a rank that
 * shares its core gives way at once. Giving way to other work costs a rank its
 * turn, often for milliseconds: when that happens it sleeps instead for a
 * while, because who wakes up is served first. */
enum {
    RESTS_BEFORE_SLEEP = 2000,
    SLEEP_NS = 20000,
    SHORT_SLEEP_NS = 5000,
    CROWDED_RESTS = 20000
};
static const double CROWDED_SECONDS = 100e-6;

void rank_beat(rank_world *w)
{
    if (w->pulse)
        w->pulse->beat++;
}

void rank_rest(rank_world *w, uint32_t turn)
{
    bool tired = turn > RESTS_BEFORE_SLEEP;
    const struct timespec nap = {.tv_nsec = tired ? SLEEP_NS : SHORT_SLEEP_NS};
    rank_beat(w);
    if (tired || w->crowded > 0) {
        w->crowded -= w->crowded > 0;
        nanosleep(&nap, NULL);
        return;
    }
    double before = rank_now();
    sched_yield();
    if (rank_now() - before > CROWDED_SECONDS)
        w->crowded = CROWDED_RESTS;
}

void rank_wait(rank_world *w, MPI_Request *req, const char *what)
{
    double begun = rank_now();
    int done = 0;
    for (uint32_t turn = 0;; turn++) {
        MPI_Test(req, &done, MPI_STATUS_IGNORE);
        if (done)
            return;
        rank_rest(w, turn);
        if (turn % 256 == 255 && rank_now() - begun > w->limit) {
            clv_err err = {0};
            rank_fail(&err, CLV_LIMIT, "waited %g s for %s", w->limit, what);
            rank_abort(w, &err);
        }
    }
}

/* -- agreeing -------------------------------------------------------------*/

clv_status rank_agree(rank_world *w, clv_status s, const clv_err *err)
{
    MPI_Request req;
    int mine = (int)s, first = -1;
    int *all = calloc((size_t)w->ranks, sizeof *all);
    if (!all) {
        const clv_err none = {.code = CLV_NOMEM, .msg = "out of memory"};
        rank_abort(w, &none);
        return CLV_NOMEM;
    }
    MPI_Iallgather(&mine, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD, &req);
    rank_wait(w, &req, "all ranks to come as far as this one");
    for (int r = 0; r < w->ranks && first < 0; r++)
        if (all[r] != CLV_OK)
            first = r;
    clv_status agreed = first < 0 ? CLV_OK : (clv_status)all[first];
    free(all);
    if (first == w->rank)
        rank_say(w, err->msg);
    if (first >= 0) { /* a launcher ends all as soon as one ends: first speak */
        MPI_Ibarrier(MPI_COMM_WORLD, &req);
        rank_wait(w, &req, "the rank at fault to say why");
    }
    return agreed;
}

typedef struct rank_card {
    char version[32], host[64];
    uint32_t manifest, words;
} rank_card;

clv_status rank_same(rank_world *w, clv_err *err)
{
    MPI_Request req;
    rank_card mine = {.manifest = w->plan->crc, .words = w->o.crc};
    snprintf(mine.version, sizeof mine.version, "%s", RANK_VERSION);
    snprintf(mine.host, sizeof mine.host, "%.60s", w->host);
    rank_card *all = calloc((size_t)w->ranks, sizeof *all);
    if (!all)
        return rank_fail(err, CLV_NOMEM, "out of memory");
    int n = (int)sizeof mine;
    MPI_Iallgather(&mine, n, MPI_BYTE, all, n, MPI_BYTE, MPI_COMM_WORLD, &req);
    rank_wait(w, &req, "the versions of all ranks");
    clv_status s = CLV_OK;
    for (int r = 1; r < w->ranks && s == CLV_OK && w->rank == 0; r++) {
        const rank_card *c = &all[r];
        if (strcmp(c->version, all[0].version))
            s = rank_fail(err, CLV_FORMAT,
                          "rank %d on %s has cleave %s, this one %s: install "
                          "one version everywhere",
                          r, c->host, c->version, all[0].version);
        else if (c->manifest != all[0].manifest)
            s = rank_fail(err, CLV_FORMAT,
                          "rank %d on %s has the parts of another cut: copy "
                          "one folder to every host",
                          r, c->host);
        else if (c->words != all[0].words)
            s = rank_fail(err, CLV_USAGE,
                          "rank %d on %s was started with other arguments", r,
                          c->host);
    }
    free(all);
    return s;
}

/* -- who runs what --------------------------------------------------------*/

/* The part that takes longest, as far as the cut knows. */
static uint32_t seats_slowest(const rank_world *w)
{
    uint32_t worst = 0;
    for (uint32_t k = 1; k < w->plan->n_parts; k++) {
        const clv_bundle_part *a = &w->plan->parts[k];
        const clv_bundle_part *b = &w->plan->parts[worst];
        bool timed = a->seconds > 0 || b->seconds > 0;
        if (timed ? a->seconds > b->seconds : a->flops > b->flops)
            worst = k;
    }
    return worst;
}

/* --replicas N for the slowest part, or PART=N,PART=N. */
static clv_status seats_replicas(rank_world *w, clv_err *err)
{
    const char *at = w->o.replicas;
    while (at && *at) {
        char *end;
        unsigned long part = seats_slowest(w), n = strtoul(at, &end, 10);
        bool ok = end != at;
        if (ok && *end == '=') {
            part = n;
            at = end + 1;
            n = strtoul(at, &end, 10);
            ok = end != at;
        }
        if (!ok || (*end && *end != ',') || n < 1 || n > 100000)
            return rank_fail(
                err, CLV_USAGE,
                "--replicas takes N, or PART=N,PART=N, not '%.60s'",
                w->o.replicas);
        if (part >= w->plan->n_parts)
            return rank_fail(err, CLV_USAGE,
                             "--replicas: no partition %lu; there are %u", part,
                             w->plan->n_parts);
        w->seat[part].replicas = (uint32_t)n;
        at = *end ? end + 1 : end;
    }
    return CLV_OK;
}

/* One rank for each device that the cut names, in the order it names them.
 * Returns how many there are. */
static int seats_by_device(rank_world *w)
{
    int devices = 0;
    for (uint32_t k = 0; k < w->plan->n_parts; k++) {
        w->seat[k] = (rank_seat){.rank = devices, .replicas = 1};
        for (uint32_t i = 0; i < k; i++)
            if (!strcmp(w->plan->parts[i].device, w->plan->parts[k].device))
                w->seat[k].rank = w->seat[i].rank;
        devices += w->seat[k].rank == devices;
    }
    return devices;
}

static clv_status seats_assign(rank_world *w, clv_err *err)
{
    uint32_t n = w->plan->n_parts;
    int devices = seats_by_device(w);
    if (w->ranks == devices && !w->o.replicas && (uint32_t)devices < n)
        return CLV_OK;
    for (uint32_t k = 0; k < n; k++)
        w->seat[k] = (rank_seat){.replicas = 1};
    clv_status s = seats_replicas(w, err);
    int64_t needed = 0;
    for (uint32_t k = 0; k < n; k++) {
        w->seat[k].rank = (int)needed;
        needed += w->seat[k].replicas;
    }
    if (s != CLV_OK || needed == w->ranks)
        return s;
    char also[100] = "";
    if ((uint32_t)devices < n && !w->o.replicas)
        snprintf(also, sizeof also, ", or on %d, one for each device", devices);
    return rank_fail(err, CLV_USAGE,
                     "%u partitions%s run on %lld ranks%s, not on %d: mpirun "
                     "-n %lld",
                     n, w->o.replicas ? " and their replicas" : "",
                     (long long)needed, also, w->ranks, (long long)needed);
}

int rank_of(const rank_world *w, uint32_t part, uint64_t micro)
{
    if (part == CLV_NONE)
        return 0;
    const rank_seat *s = &w->seat[part];
    return s->rank + (int)(micro % s->replicas);
}

bool rank_has(const rank_world *w, uint32_t part)
{
    const rank_seat *s = &w->seat[part];
    return w->rank >= s->rank && w->rank < s->rank + (int)s->replicas;
}

int64_t rank_value_bytes(const rank_world *w, uint32_t value)
{
    return clv_tensor_bytes(&w->plan->values[value].type);
}

uint32_t rank_find_link(const rank_world *w, uint32_t from, uint32_t to)
{
    for (uint32_t i = 0; i < w->n_links; i++)
        if (w->links[i].from == from && w->links[i].to == to)
            return i;
    return CLV_NONE;
}

static void seats_add_link(rank_world *w, uint32_t from, uint32_t to,
                           uint32_t value)
{
    uint32_t i = rank_find_link(w, from, to);
    if (i == CLV_NONE) {
        i = w->n_links++;
        w->links[i] = (rank_link){.from = from, .to = to};
    }
    w->links[i].bytes += rank_value_bytes(w, value);
}

/* What passes between ranks must be plain tensors whose size is known. */
static clv_status seats_check_value(const rank_world *w, uint32_t value,
                                    clv_err *err)
{
    const clv_bundle_value *v = &w->plan->values[value];
    if (v->type.dtype == CLV_STRING || v->type.dtype == CLV_NODTYPE)
        return rank_fail(err, CLV_UNSUPPORTED,
                         "'%.80s' is no tensor of numbers, and cannot pass "
                         "between ranks",
                         v->name);
    if (v->type.rank == CLV_NONE)
        return rank_fail(err, CLV_UNSUPPORTED,
                         "the shape of '%.80s' is found while running, and "
                         "cannot pass between ranks",
                         v->name);
    if (rank_value_bytes(w, value) > INT32_MAX)
        return rank_fail(err, CLV_UNSUPPORTED,
                         "'%.80s' has %lld bytes, more than one message holds",
                         v->name, (long long)rank_value_bytes(w, value));
    return CLV_OK;
}

clv_status rank_seats(rank_world *w, clv_err *err)
{
    const clv_bundle_plan *p = w->plan;
    uint64_t ends = p->n_outputs;
    if (!p->n_parts)
        return rank_fail(err, CLV_FORMAT, "manifest.json: no partitions");
    for (uint32_t k = 0; k < p->n_parts; k++)
        ends += p->parts[k].n_inputs;
    if (ends >= RANK_TAG_PING)
        return rank_fail(err, CLV_UNSUPPORTED,
                         "%llu tensors pass between partitions, more than MPI "
                         "has tags for",
                         (unsigned long long)ends);
    w->seat = calloc(p->n_parts, sizeof *w->seat);
    w->links = calloc((size_t)ends + 1, sizeof *w->links);
    if (!w->seat || !w->links)
        return rank_fail(err, CLV_NOMEM, "out of memory");
    clv_status s = seats_assign(w, err);
    for (uint32_t k = 0; k < p->n_parts && s == CLV_OK; k++)
        for (uint32_t i = 0; i < p->parts[k].n_inputs && s == CLV_OK; i++) {
            uint32_t v = p->parts[k].inputs[i];
            s = seats_check_value(w, v, err);
            if (s == CLV_OK)
                seats_add_link(w, p->values[v].maker, k, v);
        }
    for (uint32_t i = 0; i < p->n_outputs && s == CLV_OK; i++) {
        uint32_t v = p->outputs[i];
        s = seats_check_value(w, v, err);
        if (s == CLV_OK)
            seats_add_link(w, p->values[v].maker, CLV_NONE, v);
    }
    return s;
}
