/* cluster_route.c - the way from one device to another: as the file states it,
 * else the shortest. The length of a link is the time it needs for a message of
 * 1 MB. A device with one link is never on the way of others. */
#include "plan/cluster.h"

#include <math.h>
#include <string.h>

#define ROUTE_MESSAGE 1e6

bool clv__router_start(cluster_router *r, const clv_cluster *c)
{
    *r = (cluster_router){.c = c};
    r->into =
        arena_zalloc(&r->mem, ((size_t)c->n_places + 1) * sizeof *r->into);
    return r->into != NULL;
}

void clv__router_end(cluster_router *r)
{
    arena_free(&r->mem);
}

static uint32_t route_end(const clv_cluster *c, uint32_t hop)
{
    return c->end[!(hop & 1)][hop / 2];
}

static uint32_t route_begin(const clv_cluster *c, uint32_t hop)
{
    return c->end[hop & 1][hop / 2];
}

static bool route_leaf(const clv_cluster *c, uint32_t place)
{
    return c->first[place + 1] - c->first[place] == 1;
}

typedef struct route_item {
    double far;
    uint32_t place;
} route_item;

static void route_push(route_item *heap, uint32_t *n, route_item x)
{
    uint32_t i = (*n)++;
    for (; i && x.far < heap[(i - 1) / 2].far; i = (i - 1) / 2)
        heap[i] = heap[(i - 1) / 2];
    heap[i] = x;
}

static route_item route_pop(route_item *heap, uint32_t *n)
{
    route_item top = heap[0], last = heap[--*n];
    uint32_t i = 0;
    for (uint32_t k = 1; k < *n; k = 2 * i + 1) {
        if (k + 1 < *n && heap[k + 1].far < heap[k].far)
            k++;
        if (heap[k].far >= last.far)
            break;
        heap[i] = heap[k];
        i = k;
    }
    heap[i] = last;
    return top;
}

/* Shortest ways from one place to all that are no leaves (Dijkstra). */
static uint32_t *route_search(cluster_router *r, uint32_t from)
{
    const clv_cluster *c = r->c;
    uint32_t *into = arena_array(&r->mem, (size_t)c->n_places + 1, 4);
    uint32_t n = 0;
    arena scratch = {0};
    double *far = arena_array(&scratch, (size_t)c->n_places + 1, sizeof *far);
    route_item *heap =
        arena_array(&scratch, 2 * (size_t)c->info.n_links + 2, sizeof *heap);
    for (uint32_t i = 0; into && far && i < c->n_places; i++) {
        far[i] = INFINITY;
        into[i] = CLV_NONE;
    }
    if (into && far && heap) {
        far[from] = 0;
        route_push(heap, &n, (route_item){0, from});
    }
    while (n) {
        route_item x = route_pop(heap, &n);
        if (x.far > far[x.place])
            continue;
        for (uint32_t k = c->first[x.place]; k < c->first[x.place + 1]; k++) {
            uint32_t hop = c->out[k], to = route_end(c, hop);
            const clv_cluster_link *l = &c->links[hop / 2];
            double there = x.far + l->latency + ROUTE_MESSAGE / l->bandwidth;
            if (there >= far[to] || route_leaf(c, to))
                continue;
            far[to] = there;
            into[to] = hop;
            route_push(heap, &n, (route_item){there, to});
        }
    }
    bool ok = far && heap;
    arena_free(&scratch);
    return ok ? into : NULL;
}

static void route_take(const clv_cluster *c, cluster_route *out, uint32_t hop)
{
    const clv_cluster_link *l = &c->links[hop / 2];
    out->latency += l->latency;
    if (l->bandwidth < out->bandwidth)
        out->bandwidth = l->bandwidth;
    if (out->n < CLUSTER_HOPS)
        out->hops[out->n++] = hop;
    else
        out->found = false; /* longer than anyone builds */
}

static bool route_stated(const clv_cluster *c, uint32_t from, uint32_t to,
                         cluster_route *out)
{
    for (uint32_t i = 0; i < c->n_stated; i++) {
        const cluster_stated *s = &c->stated[i];
        bool there = s->from == from && s->to == to;
        if (!there && !(s->from == to && s->to == from))
            continue;
        for (uint32_t k = 0; k < s->n; k++)
            route_take(c, out, there ? s->hops[k] : s->hops[s->n - 1 - k] ^ 1);
        return true;
    }
    return false;
}

bool clv__route(cluster_router *r, uint32_t from, uint32_t to,
                cluster_route *out)
{
    const clv_cluster *c = r->c;
    uint32_t head = CLV_NONE, tail = CLV_NONE, way[CLUSTER_HOPS], n = 0;
    out->n = 0;
    out->bandwidth = INFINITY;
    out->latency = 0;
    out->found = true;
    if (from == to || route_stated(c, from, to, out))
        return true;
    if (route_leaf(c, from)) {
        head = c->out[c->first[from]];
        from = route_end(c, head);
    }
    if (from != to && route_leaf(c, to)) {
        tail = c->out[c->first[to]] ^ 1;
        to = route_begin(c, tail);
    }
    if (from != to && !r->into[from] &&
        !(r->into[from] = route_search(r, from)))
        return false;
    for (uint32_t at = to; at != from && out->found;) {
        uint32_t hop = r->into[from][at];
        if (hop == CLV_NONE || n == CLUSTER_HOPS)
            out->found = false;
        else {
            way[n++] = hop;
            at = route_begin(c, hop);
        }
    }
    if (head != CLV_NONE)
        route_take(c, out, head);
    while (n && out->found)
        route_take(c, out, way[--n]);
    if (tail != CLV_NONE && out->found)
        route_take(c, out, tail);
    return true;
}
