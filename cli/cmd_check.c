/* cmd_check.c - suitability and budgets, with exit code 1 when one fails. */
#include "strategy.h"

#include <string.h>

static void check_report(const void *k, const clv_report_opts *o, clv_buf *out)
{
    clv_report_check(k, o, out);
}

static clv_status unknown_key(const char *word, clv_err *err)
{
    const char *names[CLV_BUDGET_COUNT];
    char near[128];
    for (uint32_t i = 0; i < CLV_BUDGET_COUNT; i++)
        names[i] = clv_budget_at(i)->key;
    if (clv_suggest(word, names, CLV_BUDGET_COUNT, near, sizeof near))
        return fail(err, CLV_USAGE,
                    "--budget has no key '%s'; did you mean %s?", word, near);
    return fail(err, CLV_USAGE,
                "--budget has no key '%s'; it takes params, macs, flops, "
                "weights, peak, memory, latency and more (docs/memory.md)",
                word);
}

static bool parse_limit(const clv_budget_info *info, const char *text,
                        double *out)
{
    int64_t n;
    if (info->unit == CLV_UNIT_SECONDS)
        return parse_seconds(text, out);
    if (!strcmp(text, "0")) {
        *out = 0;
        return true;
    }
    if (!parse_quantity(text, &n))
        return false;
    *out = (double)n;
    return true;
}

/* "macs=4.2G" */
static clv_status parse_budget(const char *text, clv_budget *b, clv_err *err)
{
    char key[32];
    size_t len = strcspn(text, "=");
    snprintf(key, sizeof key, "%.*s", (int)(len < 31 ? len : 31), text);
    for (uint32_t i = 0; i < CLV_BUDGET_COUNT; i++) {
        const clv_budget_info *info = clv_budget_at(i);
        if (strcmp(key, info->key))
            continue;
        b->key = (clv_budget_key)i;
        if (text[len] && parse_limit(info, text + len + 1, &b->limit))
            return CLV_OK;
        return fail(err, CLV_USAGE, "--budget %s takes %s, not '%s'", key,
                    info->unit == CLV_UNIT_SECONDS ? "a time such as 5ms"
                    : info->unit == CLV_UNIT_BYTES ? "a size such as 100MB"
                                                   : "a number such as 4.2G",
                    text[len] ? text + len + 1 : "");
    }
    return text[len]
               ? unknown_key(key, err)
               : fail(err, CLV_USAGE,
                      "--budget takes KEY=N such as macs=4.2G, not '%s'", text);
}

static clv_status read_opts(const options *o, options *memory,
                            clv_check_opts *opts, clv_err *err)
{
    clv_status s = CLV_OK;
    size_t n = o->budget.n;
    int64_t bytes = 0;
    clv_budget *b = options_alloc(memory, n + 1, sizeof *b);
    if (!b)
        return fail(err, CLV_NOMEM, "out of memory");
    if (o->memory_size && !parse_quantity(o->memory_size, &bytes))
        return fail(err, CLV_USAGE,
                    "--memory takes a size such as 256MB, not '%s'",
                    o->memory_size);
    if (o->hardware.n > 1)
        return fail(err, CLV_USAGE, "check takes one --hardware, not %zu",
                    o->hardware.n);
    if (!o->hardware.n && !n && !bytes && !o->compute_units &&
        o->min_intensity == 0)
        return fail(err, CLV_USAGE,
                    "check needs --hardware NAME, --budget KEY=N, or figures "
                    "such as --memory 256MB");
    if (o->hardware.n)
        s = find_device(o, o->hardware.items[0], &opts->device, err);
    for (size_t i = 0; s == CLV_OK && i < n; i++) {
        s = parse_budget(o->budget.items[i], &b[i], err);
        for (size_t j = 0; s == CLV_OK && j < i; j++)
            if (b[j].key == b[i].key)
                s = fail(err, CLV_USAGE, "--budget gives '%s' twice",
                         clv_budget_at(b[i].key)->key);
        if (s == CLV_OK && b[i].key == CLV_BUDGET_LATENCY && !opts->device)
            s = fail(err, CLV_USAGE,
                     "--budget latency needs --hardware NAME; 'cleave "
                     "hardware' lists them");
    }
    opts->memory = (double)bytes;
    opts->compute_units = (double)o->compute_units;
    opts->min_intensity = o->min_intensity;
    opts->budgets = b;
    opts->n_budgets = (uint32_t)n;
    return s;
}

static clv_status check_verdict(const clv_check *k, clv_err *err)
{
    uint32_t n, failed = clv_check_failed(k);
    const clv_check_item *x = clv_check_items(k, &n);
    char names[256] = "";
    for (uint32_t i = 0; i < n; i++) {
        size_t len = strlen(names);
        if (!x[i].passed)
            snprintf(names + len, sizeof names - len, "%s%s", len ? ", " : "",
                     x[i].key);
    }
    return failed ? fail(err, CLV_LIMIT, "%u of %u checks failed: %s", failed,
                         n, names)
                  : CLV_OK;
}

clv_status cmd_check(const options *o, clv_err *err)
{
    clv_graph *g = NULL;
    clv_profile *p = NULL;
    clv_cut *c = NULL;
    clv_check *k = NULL;
    options memory = {0};
    clv_check_opts opts = {.size = sizeof opts};
    clv_status s = read_opts(o, &memory, &opts, err);
    if (s == CLV_OK)
        s = open_profile(o, &g, &p, err);
    if (s == CLV_OK)
        s = make_cut(o, "op", p, &c, err);
    if (s == CLV_OK)
        s = clv_check_new(c, &opts, &k, err);
    if (s == CLV_OK)
        s = emit(o, check_report, k, err);
    if (s == CLV_OK)
        s = check_verdict(k, err);
    clv_check_free(k);
    clv_cut_free(c);
    clv_profile_free(p);
    clv_graph_free(g);
    options_free(&memory);
    return s;
}
