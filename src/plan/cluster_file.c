/* cluster_file.c - reads a cluster from JSON:
 *
 *   {"hosts": [{"name": "a", "devices": [
 *        {"name": "gpu", "count": 4, "hardware": "h100", "memory": 8e10,
 *         "to_host": {"bandwidth": 6.4e10, "latency": 5e-6}}]}],
 *    "switches": ["s"],
 *    "links": [{"from": "a", "to": "s", "bandwidth": 1e9, "latency": 1e-5}],
 *    "routes": [{"from": "a/gpu0", "to": "a/gpu3", "via": ["a/gpu1"]}]}
 *
 * All figures are in base units: bytes, seconds, operations per second. */
#include "core/json.h"
#include "core/mapping.h"
#include "plan/cluster.h"

#include <math.h>
#include <string.h>

typedef struct cluster_reader {
    clv_cluster *c;
    strmap places; /* by name */
    size_t cap_devices, cap_links, cap_end[2], cap_stated;
    uint32_t n_devices, n_links, n_others;
    clv_err *e;
} cluster_reader;

static clv_status cluster_bad(cluster_reader *r, const json *at,
                              const char *what)
{
    return clv__fail(r->e, CLV_FORMAT, "line %u: %s", at ? at->line : 1, what);
}

static clv_status cluster_figure(cluster_reader *r, const json *j,
                                 const char *key, double least, double most,
                                 double *out)
{
    double x = json_number(j, key, NAN);
    if (!(x >= least && x <= most))
        return clv__fail(r->e, CLV_FORMAT,
                         "line %u: '%s' must be a number from %g to %g",
                         j->line, key, least, most);
    *out = x;
    return CLV_OK;
}

static bool cluster_knows(const char *key, const char *const *known,
                          bool figures)
{
    for (; *known; known++)
        if (!strcmp(key, *known))
            return true;
    for (uint32_t i = 0; figures && clv_figure_at(i); i++)
        if (!strcmp(key, clv_figure_at(i)->key))
            return true;
    return false;
}

/* Fails on a key that nobody reads, which is a misspelt one. `known` ends with
 * NULL; `figures`: those of a device are known too. */
static clv_status cluster_keys(cluster_reader *r, const json *j,
                               const char *const *known, bool figures)
{
    for (const json *v = j->type == JSON_OBJECT ? j->child : NULL; v;
         v = v->next)
        if (!cluster_knows(v->key, known, figures))
            return clv__fail(r->e, CLV_FORMAT, "line %u: unknown key '%.80s'",
                             v->line, v->key);
    return CLV_OK;
}

static clv_status cluster_name(cluster_reader *r, const json *j,
                               const char **out)
{
    *out = json_string(j, "name", NULL);
    if (!*out || !**out || strlen(*out) > 200 || strchr(*out, '/'))
        return cluster_bad(r, j,
                           "a host or device needs a name without '/', of at "
                           "most 200 bytes");
    return CLV_OK;
}

static clv_status cluster_place(cluster_reader *r, const json *at,
                                const char *name, uint32_t id)
{
    bool added;
    if (!strmap_add(&r->places, name, strlen(name), id, &added))
        return clv__nomem(r->e);
    if (!added)
        return clv__fail(r->e, CLV_FORMAT, "line %u: '%.200s' is there twice",
                         at->line, name);
    if (r->places.n > CLUSTER_PLACES)
        return cluster_bad(r, at, "more than 65536 devices and hosts");
    return CLV_OK;
}

static clv_status cluster_link(cluster_reader *r, const json *j, uint32_t from,
                               uint32_t to)
{
    static const char *const keys[] = {"from", "to", "bandwidth", "latency",
                                       NULL};
    clv_cluster_link l = {0};
    CLV_TRY(cluster_keys(r, j, keys, false));
    if (from == to)
        return cluster_bad(r, j, "a link from a place to itself");
    CLV_TRY(cluster_figure(r, j, "bandwidth", 1, 1e18, &l.bandwidth));
    if (json_get(j, "latency"))
        CLV_TRY(cluster_figure(r, j, "latency", 0, 1e6, &l.latency));
    if (r->n_links >= CLUSTER_LINKS)
        return cluster_bad(r, j, "more than 262144 links");
    if (!CLV_GROW(r->c->links, r->n_links, r->cap_links) ||
        !CLV_GROW(r->c->end[0], r->n_links, r->cap_end[0]) ||
        !CLV_GROW(r->c->end[1], r->n_links, r->cap_end[1]))
        return clv__nomem(r->e);
    r->c->links[r->n_links] = l;
    r->c->end[0][r->n_links] = from;
    r->c->end[1][r->n_links++] = to;
    return CLV_OK;
}

/* -- devices --------------------------------------------------------------*/

/* Figures that stand in the row itself: a device of the user's own. */
static clv_status cluster_own(cluster_reader *r, const json *j,
                              const char *name, const clv_device **out)
{
    clv_device *d = arena_zalloc(&r->c->mem, sizeof *d);
    if (!d)
        return clv__nomem(r->e);
    d->name = d->title = name;
    for (uint32_t i = 0; clv_figure_at(i); i++) {
        const char *key = clv_figure_at(i)->key;
        clv_figure *to = (clv_figure *)(uintptr_t)clv_device_figure(d, i);
        if (!json_get(j, key))
            continue;
        CLV_TRY(cluster_figure(r, j, key, 1e-12, 1e24, &to->value));
        to->source = "the cluster file";
    }
    if (!(d->fp32.value > 0) || !(d->bandwidth.value > 0))
        return clv__fail(r->e, CLV_FORMAT,
                         "line %u: device '%.200s' needs 'hardware', or 'fp32' "
                         "and 'bandwidth'",
                         j->line, name);
    *out = d;
    return CLV_OK;
}

static clv_status cluster_hardware(cluster_reader *r, const json *j,
                                   const char *name, const clv_device **out)
{
    const char *word = json_string(j, "hardware", NULL);
    clv_device *own;
    if (!word)
        return cluster_own(r, j, name, out);
    if (!strchr(word, '/') && !clv__glob("*.json", word))
        return clv_device_find(word, out, r->e);
    if (!CLV_GROW(r->c->own, r->c->n_own, r->c->cap_own))
        return clv__nomem(r->e);
    CLV_TRY(clv_device_load(word, &own, r->e));
    r->c->own[r->c->n_own++] = own;
    *out = own;
    return CLV_OK;
}

static clv_status cluster_device(cluster_reader *r, const json *j,
                                 const char *host)
{
    static const char *const keys[] = {"name",    "count",  "hardware",
                                       "to_host", "memory", NULL};
    clv_cluster_device d = {0};
    const char *name;
    double memory, count = 1;
    CLV_TRY(cluster_keys(r, j, keys, !json_get(j, "hardware")));
    CLV_TRY(cluster_name(r, j, &name));
    CLV_TRY(cluster_hardware(r, j, name, &d.hardware));
    memory = d.hardware->memory.value;
    if (json_get(j, "memory") || !(memory > 0))
        CLV_TRY(cluster_figure(r, j, "memory", 1, 1e18, &memory));
    if (json_get(j, "count"))
        CLV_TRY(cluster_figure(r, j, "count", 1, CLUSTER_DEVICES, &count));
    if (count != floor(count) || r->n_devices + count > CLUSTER_DEVICES)
        return cluster_bad(r, j, "a cluster has at most 16384 devices");
    d.memory = (int64_t)memory;
    for (uint32_t k = 0; k < (uint32_t)count; k++) {
        char number[16] = "";
        if (json_get(j, "count"))
            clv_format(number, sizeof number, "%u", k);
        d.name = arena_printf(&r->c->mem, "%s/%s%s", host, name, number);
        d.host = host;
        if (!d.name || !CLV_GROW(r->c->devices, r->n_devices, r->cap_devices))
            return clv__nomem(r->e);
        CLV_TRY(cluster_place(r, j, d.name, r->n_devices));
        r->c->devices[r->n_devices++] = d;
    }
    return CLV_OK;
}

static const json *cluster_list(const json *obj, const char *key)
{
    const json *l = json_get(obj, key);
    return l && l->type == JSON_ARRAY ? l->child : NULL;
}

static clv_status cluster_hosts(cluster_reader *r, const json *root)
{
    static const char *const keys[] = {"hosts", "switches", "links", "routes",
                                       NULL};
    static const char *const of_host[] = {"name", "devices", NULL};
    CLV_TRY(cluster_keys(r, root, keys, false));
    for (const json *h = cluster_list(root, "hosts"); h; h = h->next) {
        const char *host;
        CLV_TRY(cluster_keys(r, h, of_host, false));
        CLV_TRY(cluster_name(r, h, &host));
        if (!(host = arena_printf(&r->c->mem, "%s", host)))
            return clv__nomem(r->e);
        for (const json *d = cluster_list(h, "devices"); d; d = d->next)
            CLV_TRY(cluster_device(r, d, host));
    }
    return r->n_devices ? CLV_OK
                        : cluster_bad(r, root,
                                      "no host has a device: a list "
                                      "'hosts' with 'devices'");
}

/* Hosts and switches get the numbers behind the devices; devices are linked to
 * their hosts. */
static clv_status cluster_others(cluster_reader *r, const json *root)
{
    uint32_t device = 0;
    for (const json *h = cluster_list(root, "hosts"); h; h = h->next) {
        uint32_t id = r->n_devices + r->n_others++;
        CLV_TRY(cluster_place(r, h, json_string(h, "name", ""), id));
        for (const json *d = cluster_list(h, "devices"); d; d = d->next) {
            const json *up = json_get(d, "to_host");
            uint32_t n = (uint32_t)json_number(d, "count", 1);
            for (uint32_t k = 0; k < n; k++, device++)
                if (up)
                    CLV_TRY(cluster_link(r, up, device, id));
        }
    }
    for (const json *s = cluster_list(root, "switches"); s; s = s->next) {
        if (s->type != JSON_STRING || !s->n || s->n > 200)
            return cluster_bad(r, s, "a switch is a name of at most 200 bytes");
        CLV_TRY(cluster_place(r, s, s->u.s, r->n_devices + r->n_others++));
    }
    return CLV_OK;
}

/* -- links and routes -----------------------------------------------------*/

static clv_status cluster_find(cluster_reader *r, const json *at,
                               const char *name, uint32_t *out)
{
    *out = name ? strmap_get(&r->places, name, strlen(name)) : CLV_NONE;
    if (*out == CLV_NONE)
        return clv__fail(r->e, CLV_FORMAT,
                         "line %u: no device, host or switch is called "
                         "'%.200s'",
                         at->line, name ? name : "");
    return CLV_OK;
}

static clv_status cluster_links(cluster_reader *r, const json *root)
{
    for (const json *l = cluster_list(root, "links"); l; l = l->next) {
        uint32_t from, to;
        CLV_TRY(cluster_find(r, l, json_string(l, "from", NULL), &from));
        CLV_TRY(cluster_find(r, l, json_string(l, "to", NULL), &to));
        CLV_TRY(cluster_link(r, l, from, to));
    }
    return CLV_OK;
}

/* The widest link from a to b as a hop; CLV_NONE: there is none. */
static uint32_t cluster_hop(const cluster_reader *r, uint32_t a, uint32_t b)
{
    uint32_t best = CLV_NONE;
    for (uint32_t i = 0; i < r->n_links; i++) {
        uint32_t x = r->c->end[0][i], y = r->c->end[1][i];
        bool there = x == a && y == b, back = x == b && y == a;
        if ((there || back) &&
            (best == CLV_NONE ||
             r->c->links[i].bandwidth > r->c->links[best / 2].bandwidth))
            best = 2 * i + (back ? 1 : 0);
    }
    return best;
}

static clv_status cluster_route_row(cluster_reader *r, const json *j)
{
    static const char *const keys[] = {"from", "to", "via", NULL};
    uint32_t hops[CLUSTER_HOPS], n = 0, from, to, at;
    cluster_stated s = {0};
    CLV_TRY(cluster_keys(r, j, keys, false));
    CLV_TRY(cluster_find(r, j, json_string(j, "from", NULL), &from));
    CLV_TRY(cluster_find(r, j, json_string(j, "to", NULL), &to));
    at = from;
    for (const json *v = cluster_list(j, "via");; v = v->next) {
        uint32_t next = to;
        if (v)
            CLV_TRY(cluster_find(r, v, v->type == JSON_STRING ? v->u.s : NULL,
                                 &next));
        uint32_t hop = cluster_hop(r, at, next);
        if (hop == CLV_NONE || n == CLUSTER_HOPS)
            return cluster_bad(r, j,
                               "a route needs a link between each two "
                               "places, and at most 64 of them");
        hops[n++] = hop;
        at = next;
        if (!v)
            break;
    }
    if (!CLV_GROW(r->c->stated, r->c->n_stated, r->cap_stated))
        return clv__nomem(r->e);
    s = (cluster_stated){.from = from, .to = to, .n = n};
    uint32_t *copy = arena_array(&r->c->mem, n, sizeof *copy);
    if (!copy)
        return clv__nomem(r->e);
    memcpy(copy, hops, n * sizeof *copy);
    s.hops = copy;
    r->c->stated[r->c->n_stated++] = s;
    return CLV_OK;
}

static clv_status cluster_adjacent(cluster_reader *r)
{
    clv_cluster *c = r->c;
    c->n_places = r->n_devices + r->n_others;
    c->first = arena_zalloc(&c->mem, ((size_t)c->n_places + 2) * 4);
    c->out = arena_array(&c->mem, 2 * (size_t)r->n_links + 1, 4);
    if (!c->first || !c->out)
        return clv__nomem(r->e);
    uint32_t *end = c->first + 1;
    for (uint32_t i = 0; i < 2 * r->n_links; i++)
        end[c->end[i & 1][i / 2] + 1]++;
    for (uint32_t i = 0; i < c->n_places; i++)
        end[i + 1] += end[i];
    for (uint32_t i = 0; i < 2 * r->n_links; i++)
        c->out[end[c->end[i & 1][i / 2]]++] = i;
    return CLV_OK;
}

/* Names of the ends of links, for reports. */
static clv_status cluster_name_ends(cluster_reader *r, const json *root)
{
    clv_cluster *c = r->c;
    uint32_t id = 0;
    const char **name =
        arena_zalloc(&c->mem, ((size_t)r->places.n + 1) * sizeof *name);
    if (!name)
        return clv__nomem(r->e);
    for (; id < r->n_devices; id++)
        name[id] = c->devices[id].name;
    for (const json *h = cluster_list(root, "hosts"); h; h = h->next)
        name[id++] = arena_printf(&c->mem, "%s", json_string(h, "name", ""));
    for (const json *s = cluster_list(root, "switches"); s; s = s->next)
        name[id++] = arena_printf(&c->mem, "%s", s->u.s);
    for (uint32_t i = 0; i < r->n_links; i++) {
        c->links[i].from = name[c->end[0][i]];
        c->links[i].to = name[c->end[1][i]];
        if (!c->links[i].from || !c->links[i].to)
            return clv__nomem(r->e);
    }
    return CLV_OK;
}

static clv_status cluster_read(cluster_reader *r, const char *text, size_t len)
{
    const json *root;
    arena tree = {0};
    clv_status s = json_parse(&tree, text, len, &root, r->e);
    if (s == CLV_OK && root->type != JSON_OBJECT)
        s = cluster_bad(r, root, "a cluster is an object with 'hosts'");
    if (s == CLV_OK)
        s = cluster_hosts(r, root);
    if (s == CLV_OK)
        s = cluster_others(r, root);
    if (s == CLV_OK)
        s = cluster_links(r, root);
    if (s == CLV_OK)
        s = cluster_name_ends(r, root);
    for (const json *j = s == CLV_OK ? cluster_list(root, "routes") : NULL;
         j && s == CLV_OK; j = j->next)
        s = cluster_route_row(r, j);
    if (s == CLV_OK)
        s = cluster_adjacent(r);
    arena_free(&tree);
    return s;
}

clv_status clv_cluster_parse(const char *text, size_t len, clv_cluster **out,
                             clv_err *err)
{
    CLV_BEGIN(out, err);
    CLV_NEED(text, err);
    cluster_reader r = {.c = clv__zalloc(sizeof *r.c), .e = err};
    if (!r.c)
        return clv__nomem(err);
    clv_status s = cluster_read(&r, text, len);
    strmap_free(&r.places);
    r.c->info = (clv_cluster_info){.size = sizeof r.c->info,
                                   .devices = r.c->devices,
                                   .links = r.c->links,
                                   .n_devices = r.n_devices,
                                   .n_links = r.n_links};
    if (s == CLV_OK)
        *out = r.c;
    else
        clv_cluster_free(r.c);
    return s;
}

clv_status clv_cluster_load(const char *path, clv_cluster **out, clv_err *err)
{
    clv_mapping map;
    CLV_BEGIN(out, err);
    CLV_NEED(path, err);
    CLV_TRY(clv__mapping_open(path, &map, err));
    clv_status s = clv_cluster_parse(map.data ? (const char *)map.data : "",
                                     map.size, out, err);
    if (s != CLV_OK)
        clv__err_prefix(err, "%s", path);
    clv__mapping_close(&map);
    return s;
}

void clv_cluster_free(clv_cluster *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->n_own; i++)
        clv_device_free(c->own[i]);
    clv__free(c->own);
    clv__free(c->devices);
    clv__free(c->links);
    clv__free(c->end[0]);
    clv__free(c->end[1]);
    clv__free(c->stated);
    arena_free(&c->mem);
    clv__free(c);
}

const clv_cluster_info *clv_cluster_get(const clv_cluster *c)
{
    return &c->info;
}
