/* replay.c - runs a fuzz target over files, without libFuzzer.
 *
 * `replay_NAME PATH...` feeds every file (or every file of a folder, sorted by
 * name) to LLVMFuzzerTestOneInput. Each input lies in an allocation of exactly
 * its size, so a sanitizer build sees the first byte read past its end. The
 * last line is the one tests/run counts. */
#include <dirent.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static long replayed, unreadable;

static int read_whole(FILE *f, uint8_t **data, size_t *size)
{
    if (fseek(f, 0, SEEK_END) != 0)
        return -1;
    long end = ftell(f);
    if (end < 0 || fseek(f, 0, SEEK_SET) != 0)
        return -1;
    *size = (size_t)end;
    *data = malloc(*size ? *size : 1);
    if (!*data)
        return -1;
    return fread(*data, 1, *size, f) == *size ? 0 : -1;
}

static void replay_file(const char *path)
{
    uint8_t *data = NULL;
    size_t size = 0;
    FILE *f = fopen(path, "rb");
    if (f && read_whole(f, &data, &size) == 0) {
        LLVMFuzzerTestOneInput(data, size);
        replayed++;
    } else {
        printf("FAIL cannot read %s\n", path);
        unreadable++;
    }
    free(data);
    if (f)
        fclose(f);
}

static int visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static void replay_folder(const char *path)
{
    struct dirent **entries = NULL;
    int count = scandir(path, &entries, visible, alphasort);
    for (int i = 0; i < count; i++) {
        char file[4096];
        snprintf(file, sizeof file, "%s/%s", path, entries[i]->d_name);
        replay_file(file);
        free(entries[i]);
    }
    free(entries);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        struct stat st;
        if (stat(argv[i], &st) == 0 && S_ISDIR(st.st_mode))
            replay_folder(argv[i]);
        else
            replay_file(argv[i]);
    }
    printf("# %ld passed, %ld failed, 0 skipped\n", replayed, unreadable);
    return unreadable ? 1 : 0;
}
