/* known.c - devices by name: the table of the library, then the user's own.
 *
 * A user's device is a JSON file in $XDG_DATA_HOME/cleave/hardware (or
 * ~/.local/share/...), named for the device; `cleave hardware --measure` writes
 * host.json there. A path works in place of a name. What was read stays with
 * the session, because commands only borrow devices. */
#include "cli.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void session_end(cli_session *s)
{
    for (uint32_t i = 0; i < s->n_devices; i++)
        clv_device_free(s->devices[i]);
    free(s->devices);
    s->devices = NULL;
    s->n_devices = 0;
    if (s->cluster)
        clv_cluster_free(s->cluster);
    s->cluster = NULL;
}

static clv_status known_load(cli_session *own, const char *path,
                             const clv_device **out, clv_err *err)
{
    clv_device **more = realloc(own->devices, ((size_t)own->n_devices + 1) *
                                                  sizeof *own->devices);
    if (!more)
        return fail(err, CLV_NOMEM, "out of memory");
    own->devices = more;
    clv_status s = clv_device_load(path, &own->devices[own->n_devices], err);
    if (s == CLV_OK)
        *out = own->devices[own->n_devices++];
    return s;
}

clv_status known_cluster(cli_session *own, const char *path,
                         const clv_cluster **out, clv_err *err)
{
    clv_cluster_free(own->cluster); /* one at a time */
    clv_status s = clv_cluster_load(path, &own->cluster, err);
    *out = own->cluster;
    return s;
}

/* -- the folder -----------------------------------------------------------*/

enum { PATH = 1024 };

static bool known_folder(char *path)
{
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    int n = -1;
    if (data && *data == '/')
        n = snprintf(path, PATH, "%s/cleave/hardware", data);
    else if (home && *home)
        n = snprintf(path, PATH, "%s/.local/share/cleave/hardware", home);
    return n > 0 && n < PATH;
}

static bool file_of(const char *name, char *path)
{
    char in[PATH];
    int n =
        known_folder(in) ? snprintf(path, PATH, "%s/%s.json", in, name) : -1;
    return n > 0 && n < PATH;
}

static bool ends_json(const char *s)
{
    size_t n = strlen(s);
    return n > 5 && !strcmp(s + n - 5, ".json");
}

static int is_device(const struct dirent *d)
{
    return d->d_name[0] != '.' && ends_json(d->d_name);
}

clv_status own_devices(const options *o, clv_err *err)
{
    char in[PATH], path[PATH + 300];
    struct dirent **list = NULL;
    int n = known_folder(in) ? scandir(in, &list, is_device, alphasort) : 0;
    clv_status s = CLV_OK;
    for (int i = 0; i < n; i++) {
        const clv_device *d;
        clv_err why = {0};
        snprintf(path, sizeof path, "%s/%s", in, list[i]->d_name);
        if (s == CLV_OK && known_load(o->session, path, &d, &why) != CLV_OK) {
            if (why.code == CLV_NOMEM)
                s = fail(err, CLV_NOMEM, "out of memory");
            else if (!o->quiet)
                say_hinted("warning: ", &why);
        }
        free(list[i]);
    }
    free(list);
    return s;
}

const clv_device *own_device_at(const options *o, uint32_t i)
{
    return i < o->session->n_devices ? o->session->devices[i] : NULL;
}

/* -- by name --------------------------------------------------------------*/

clv_status find_device(const options *o, const char *name,
                       const clv_device **out, clv_err *err)
{
    char path[PATH];
    *out = NULL;
    if (strchr(name, '/') || ends_json(name))
        return known_load(o->session, name, out, err);
    if (clv_device_find(name, out, NULL) == CLV_OK)
        return CLV_OK;
    if (file_of(name, path) && access(path, F_OK) == 0)
        return known_load(o->session, path, out, err);
    if (!strcmp(name, "host"))
        return fail(err, CLV_NOT_FOUND,
                    "this machine has not been measured; 'cleave hardware "
                    "--measure' does, and makes the device 'host'");
    return clv_device_find(name, out, err);
}

/* -- keeping one ----------------------------------------------------------*/

/* Makes the folder and those above it. */
static bool known_make_folder(const char *path)
{
    char part[PATH];
    snprintf(part, sizeof part, "%s", path);
    for (char *p = part + 1; *p; p++)
        if (*p == '/') {
            *p = '\0';
            mkdir(part, 0777); /* the last call tells whether it worked */
            *p = '/';
        }
    return mkdir(part, 0777) == 0 || errno == EEXIST;
}

clv_status device_place(const char *name, char *path, size_t size, clv_err *err)
{
    char in[PATH], file[PATH];
    if (!known_folder(in) || !file_of(name, file) || strlen(file) >= size)
        return fail(err, CLV_IO,
                    "no folder to keep a device in: HOME and XDG_DATA_HOME "
                    "are not set");
    if (!known_make_folder(in) || access(in, W_OK) != 0)
        return fail(err, CLV_IO, "cannot write to '%s': %s", in,
                    strerror(errno));
    snprintf(path, size, "%s", file);
    return CLV_OK;
}

clv_status save_device(const clv_device *d, const char *path, clv_err *err)
{
    const clv_report_opts json = {.size = sizeof json,
                                  .format = CLV_REPORT_JSON};
    clv_buf text = {0};
    clv_report_devices(&d, 1, &json, &text);
    clv_status s = write_file(path, &text, err);
    clv_buf_free(&text);
    return s;
}
