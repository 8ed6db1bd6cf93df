/* The disk cache: bytes by key, files that are broken, folders that are refused, full or read-only,
 * locks between processes, and what is removed when there is too much. */
#include "tests/support/check.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/disk.h"

static char folder[64];

static int
set_up(void **state)
{
    strcpy(folder, "/tmp/gpujit-disk-XXXXXX");
    assert_non_null(mkdtemp(folder));
    setenv("GPUJIT_CACHE_DIR", folder, 1);
    unsetenv("GPUJIT_CACHE_BYTES");
    *state = rt_disk_create();
    return 0;
}

static void
remove_folder(const char *path)
{
    DIR *dir = opendir(path);
    for (struct dirent *at; dir && (at = readdir(dir));) {
        char file[400];
        snprintf(file, sizeof file, "%s/%s", path, at->d_name);
        unlink(file);
    }
    if (dir)
        closedir(dir);
    rmdir(path);
}

static int
tear_down(void **state)
{
    rt_disk_destroy(*state);
    chmod(folder, 0700);
    remove_folder(folder);
    return 0;
}

static struct sp_digest
key_of(uint8_t number)
{
    struct sp_digest key = {{number, 0xff, 0}};
    return key;
}

static void
path_of(uint8_t number, char path[160])
{
    snprintf(path, 160, "%s/%02xff0000000000000000000000000000.gpujit", folder, number);
}

/* A miss gives "". */
static void
expect(struct rt_disk *disk, uint8_t number, const char *text)
{
    struct sp_str bytes;
    sp_str_init(&bytes);
    assert_int_equal(rt_disk_get(disk, key_of(number), &bytes), *text != '\0');
    assert_string_equal(bytes.data, text);
    sp_str_finish(&bytes);
}

static bool
put(struct rt_disk *disk, uint8_t number, const char *text)
{
    return rt_disk_put(disk, key_of(number), text, strlen(text));
}

static void
expect_warning(struct rt_disk *disk, enum sp_warning_code code, const char *part)
{
    enum sp_warning_code found;
    char *text;
    assert_true(rt_disk_take_warning(disk, &found, &text));
    assert_int_equal(found, code);
    assert_non_null(strstr(text, part));
    free(text);
    assert_false(rt_disk_take_warning(disk, &found, &text));
}

static void
expect_no_warning(struct rt_disk *disk)
{
    enum sp_warning_code code;
    char *text = NULL;
    assert_false(rt_disk_take_warning(disk, &code, &text));
}

static void
what_is_put_is_got(void **state)
{
    expect(*state, 1, "");
    assert_true(put(*state, 1, "one"));
    assert_true(put(*state, 2, "two"));
    expect(*state, 1, "one");
    expect(*state, 2, "two");
    assert_true(put(*state, 1, "another one"));
    expect(*state, 1, "another one");
    struct rt_disk *other = rt_disk_create();
    expect(other, 2, "two");
    rt_disk_destroy(other);
    assert_true(rt_disk_remove(*state, key_of(1)));
    assert_false(rt_disk_remove(*state, key_of(1)));
    expect(*state, 1, "");
    expect_no_warning(*state);
    assert_string_equal(rt_disk_path(*state), folder);
}

static void
the_folder_is_made(void **state)
{
    char deep[200], file[240];
    struct stat info;
    snprintf(deep, sizeof deep, "%s/a/b", folder);
    setenv("GPUJIT_CACHE_DIR", deep, 1);
    struct rt_disk *disk = rt_disk_create();
    expect(disk, 1, "");
    assert_int_not_equal(stat(deep, &info), 0); /* looking makes nothing */
    assert_true(put(disk, 1, "one"));
    assert_int_equal(stat(deep, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0700);
    remove_folder(deep); /* while it is in use */
    expect(disk, 1, "");
    assert_true(put(disk, 1, "again"));
    expect(disk, 1, "again");
    rt_disk_destroy(disk);
    remove_folder(deep);
    snprintf(file, sizeof file, "%s/a", folder);
    rmdir(file);
    (void)state;
}

static void
where_it_is(void **state)
{
    (void)state;
    static const struct {
        const char *own, *xdg, *home, *expected;
    } rows[] = {
        {"/x/y", "/c", "/h", "/x/y"},          {"", "/c", "/h", ""},
        {NULL, "/c", "/h", "/c/gpujit"},       {NULL, "", "/h", "/h/.cache/gpujit"},
        {NULL, "c", "/h", "/h/.cache/gpujit"}, {NULL, NULL, NULL, ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *const names[] = {"GPUJIT_CACHE_DIR", "XDG_CACHE_HOME", "HOME"};
        const char *const values[] = {rows[i].own, rows[i].xdg, rows[i].home};
        for (int k = 0; k < 3; k++)
            values[k] ? setenv(names[k], values[k], 1) : unsetenv(names[k]);
        struct rt_disk *disk = rt_disk_create();
        assert_string_equal(rt_disk_path(disk), rows[i].expected);
        if (!*rows[i].expected) {
            assert_false(put(disk, 1, "one"));
            expect_no_warning(disk);
        }
        rt_disk_destroy(disk);
    }
}

static void
write_file(const char *path, const char *bytes, size_t size_B)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size_B, file), size_B);
    fclose(file);
}

static size_t
read_file(const char *path, char *bytes, size_t cap_B)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t size_B = fread(bytes, 1, cap_B, file);
    fclose(file);
    return size_B;
}

static void
broken_files_are_misses(void **state)
{
    char path[160], other[160], bytes[200], changed[201];
    path_of(1, path);
    path_of(2, other);
    assert_true(put(*state, 1, "some bytes that matter"));
    size_t size_B = read_file(path, bytes, sizeof bytes);
    assert_int_equal(size_B, 48 + 22);
    for (size_t n = 0; n < size_B; n++) { /* cut short */
        write_file(path, bytes, n);
        expect(*state, 1, "");
    }
    for (size_t i = 0; i < size_B * 8; i++) { /* a bit changed */
        memcpy(changed, bytes, size_B);
        changed[i / 8] ^= (char)(1 << i % 8);
        write_file(path, changed, size_B);
        expect(*state, 1, "");
    }
    memcpy(changed, bytes, size_B);
    changed[size_B] = '\0';
    write_file(path, changed, size_B + 1); /* longer */
    expect(*state, 1, "");
    write_file(other, bytes, size_B); /* another one's */
    expect(*state, 2, "");
    write_file(path, bytes, size_B);
    expect(*state, 1, "some bytes that matter");
    unlink(path);
    assert_int_equal(symlink("/dev/zero", path), 0); /* and it stays a miss, and soon */
    expect(*state, 1, "");
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    expect(*state, 1, "");
    unlink(path);
    assert_int_equal(mkdir(path, 0700), 0);
    expect(*state, 1, "");
    rmdir(path);
    expect_no_warning(*state);
}

static void
folders_of_others_are_refused(void **state)
{
    char path[160];
    assert_true(put(*state, 1, "one"));
    chmod(folder, 0722);
    expect(*state, 1, "");
    assert_false(put(*state, 2, "two"));
    expect_warning(*state, SP_W_CACHE_REFUSED, "others can write there");
    chmod(folder, 0755);
    expect(*state, 1, "one");
    if (geteuid())
        skip();
    assert_int_equal(chown(folder, 12345, (gid_t)-1), 0);
    struct rt_disk *disk = rt_disk_create();
    expect(disk, 1, "");
    expect_warning(disk, SP_W_CACHE_REFUSED, "it belongs to user 12345");
    rt_disk_destroy(disk);
    assert_int_equal(chown(folder, 0, (gid_t)-1), 0);
    path_of(1, path);
    assert_int_equal(chown(path, 12345, (gid_t)-1), 0); /* a file of another's */
    expect(*state, 1, "");
    assert_int_equal(chown(path, 0, (gid_t)-1), 0);
}

static void
no_folder_at_all(void **state)
{
    (void)state;
    setenv("GPUJIT_CACHE_DIR", "/proc/nowhere/cache", 1);
    struct rt_disk *disk = rt_disk_create();
    expect(disk, 1, "");
    expect_no_warning(disk);
    assert_false(put(disk, 1, "one"));
    expect_warning(disk, SP_W_CACHE_UNUSABLE, "/proc/nowhere/cache");
    assert_false(put(disk, 1, "one"));
    expect_no_warning(disk);
    rt_disk_destroy(disk);
}

/* What is there is read, and nothing is said before something is to be written. */
static void
a_read_only_folder(void **state)
{
    if (!geteuid()) { /* who may write everywhere */
        setenv("GPUJIT_CACHE_DIR", "/sys/kernel", 1);
        struct rt_disk *disk = rt_disk_create();
        expect(disk, 1, "");
        assert_false(put(disk, 1, "one"));
        expect_warning(disk, SP_W_CACHE_UNWRITABLE, "/sys/kernel");
        rt_disk_destroy(disk);
        return;
    }
    assert_true(put(*state, 1, "one"));
    chmod(folder, 0500);
    expect(*state, 1, "one");
    expect_no_warning(*state);
    assert_false(put(*state, 2, "two"));
    expect_warning(*state, SP_W_CACHE_UNWRITABLE, "Permission denied");
}

static int
count_files(void)
{
    int n = 0;
    DIR *dir = opendir(folder);
    for (struct dirent *at; (at = readdir(dir));)
        n += strcmp(at->d_name, ".") && strcmp(at->d_name, "..");
    closedir(dir);
    return n;
}

static void
a_full_disk(void **state)
{
    struct rlimit old, small = {100, 100};
    getrlimit(RLIMIT_FSIZE, &old);
    small.rlim_max = old.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    assert_true(put(*state, 1, "short"));
    assert_false(
        put(*state, 2, "a text that is longer than what the limit leaves for it, by some"));
    setrlimit(RLIMIT_FSIZE, &old);
    expect_warning(*state, SP_W_CACHE_UNWRITABLE, folder);
    expect(*state, 1, "short");
    expect(*state, 2, "");
    assert_int_equal(count_files(), 1); /* nothing is left behind */
    assert_true(put(*state, 2, "a text that is longer than what the limit left"));
    expect_no_warning(*state);
}

static void
set_age(uint8_t number, int seconds)
{
    char path[160];
    path_of(number, path);
    struct timespec times[2] = {{.tv_sec = time(NULL) - seconds}, {.tv_sec = time(NULL) - seconds}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void
what_was_used_longest_ago_goes(void **state)
{
    char text[1000];
    memset(text, 'x', sizeof text);
    for (uint8_t i = 1; i <= 5; i++) {
        assert_true(rt_disk_put(*state, key_of(i), text, sizeof text));
        set_age(i, 1000 - i);
    }
    struct sp_str bytes;
    sp_str_init(&bytes);
    assert_true(rt_disk_get(*state, key_of(1), &bytes)); /* used just now */
    sp_str_finish(&bytes);
    assert_int_equal(rt_disk_prune(*state, 5 * 1048), 0);
    assert_int_equal(rt_disk_prune(*state, 2 * 1048), 3);
    char path[160];
    for (uint8_t i = 1; i <= 5; i++) {
        path_of(i, path);
        assert_int_equal(access(path, F_OK) == 0, i == 1 || i == 5);
    }
    assert_int_equal(rt_disk_prune(*state, 0), 2);
}

static void
the_cap_holds(void **state)
{
    (void)state;
    char text[1000];
    memset(text, 'x', sizeof text);
    setenv("GPUJIT_CACHE_BYTES", "5000", 1);
    struct rt_disk *disk = rt_disk_create();
    assert_int_equal(rt_disk_cap_B(disk), 5000);
    for (uint8_t i = 0; i < 20; i++)
        assert_true(rt_disk_put(disk, key_of(i), text, sizeof text));
    assert_in_range(count_files(), 1, 4);
    char large[6000];
    memset(large, 'x', sizeof large);
    assert_false(rt_disk_put(disk, key_of(99), large, sizeof large));
    expect_no_warning(disk);
    rt_disk_destroy(disk);
    setenv("GPUJIT_CACHE_BYTES", "none of that", 1);
    disk = rt_disk_create();
    assert_true(rt_disk_cap_B(disk) == RT_DISK_CAP_B);
    rt_disk_destroy(disk);
}

static void
leftovers_are_swept(void **state)
{
    static const char *const names[] = {".ff.1.2.tmp", ".ff.lock", ".new.tmp", "README"};
    char path[200];
    for (size_t i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        write_file(path, "x", 1);
        struct timespec times[2] = {{.tv_sec = time(NULL) - 7200}, {.tv_sec = time(NULL) - 7200}};
        if (i != 2)
            utimensat(AT_FDCWD, path, times, 0);
    }
    rt_disk_prune(*state, 0);
    assert_int_equal(count_files(), 2); /* what is new, and what is nobody's */
}

static void
locks_keep_others_out(void **state)
{
    int lock, again;
    assert_int_equal(rt_disk_lock(*state, key_of(1), 0, &lock), RT_DISK_LOCKED);
    assert_int_equal(rt_disk_lock(*state, key_of(1), 5, &again), RT_DISK_BUSY);
    assert_int_equal(rt_disk_lock(*state, key_of(2), 0, &again), RT_DISK_LOCKED);
    rt_disk_unlock(*state, key_of(2), again);
    pid_t child = fork(); /* has the open file, and outlives the lock */
    if (!child) {
        pause();
        _exit(0);
    }
    rt_disk_unlock(*state, key_of(1), lock);
    assert_int_equal(rt_disk_lock(*state, key_of(1), 0, &lock), RT_DISK_LOCKED);
    rt_disk_unlock(*state, key_of(1), lock);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    assert_int_equal(count_files(), 0);
    child = fork();
    if (!child) {
        rt_disk_lock(*state, key_of(1), 0, &lock);
        _exit(0); /* a process that dies holds nothing */
    }
    waitpid(child, NULL, 0);
    assert_int_equal(rt_disk_lock(*state, key_of(1), 0, &lock), RT_DISK_LOCKED);
    rt_disk_unlock(*state, key_of(1), lock);
    expect_no_warning(*state);
}

/* Writers and readers of one key at once: whole bytes or none. */
static void
many_processes(void **state)
{
    enum { N = 8, ROUNDS = 300 };
    static char texts[N][5000];
    pid_t children[N];
    for (int i = 0; i < N; i++)
        memset(texts[i], 'a' + i, sizeof texts[i]);
    for (int i = 0; i < N; i++) {
        children[i] = fork();
        if (children[i])
            continue;
        int wrong = 0, found = 0;
        for (int r = 0; r < ROUNDS; r++) {
            struct sp_str bytes;
            sp_str_init(&bytes);
            wrong += !rt_disk_put(*state, key_of(7), texts[i], 1000 + (size_t)i * 500);
            if (rt_disk_get(*state, key_of(7), &bytes)) {
                int who = bytes.data[0] - 'a';
                found++;
                wrong += who < 0 || who >= N || bytes.len != 1000 + (size_t)who * 500 ||
                         memcmp(bytes.data, texts[who], bytes.len) != 0;
            }
            sp_str_finish(&bytes);
        }
        _exit(wrong || found < ROUNDS);
    }
    for (int i = 0; i < N; i++) {
        int status;
        waitpid(children[i], &status, 0);
        assert_int_equal(status, 0);
    }
    assert_int_equal(count_files(), 1);
}

static void
count_entry(void *context, const struct rt_disk_entry *entry)
{
    int *counts = context;
    counts[entry->whole]++;
    if (entry->whole)
        assert_memory_equal(entry->bytes, "one", entry->n_bytes);
}

static void
entries_are_listed(void **state)
{
    char path[160];
    int counts[2] = {0};
    assert_true(rt_disk_each(*state, count_entry, counts));
    assert_int_equal(counts[0] + counts[1], 0);
    assert_true(put(*state, 1, "one"));
    path_of(2, path);
    write_file(path, "junk", 4);
    assert_true(rt_disk_each(*state, count_entry, counts));
    assert_int_equal(counts[0], 1);
    assert_int_equal(counts[1], 1);
}

#define DISK_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        DISK_TEST(what_is_put_is_got),
        DISK_TEST(the_folder_is_made),
        DISK_TEST(where_it_is),
        DISK_TEST(broken_files_are_misses),
        DISK_TEST(folders_of_others_are_refused),
        DISK_TEST(no_folder_at_all),
        DISK_TEST(a_read_only_folder),
        DISK_TEST(a_full_disk),
        DISK_TEST(what_was_used_longest_ago_goes),
        DISK_TEST(the_cap_holds),
        DISK_TEST(leftovers_are_swept),
        DISK_TEST(locks_keep_others_out),
        DISK_TEST(many_processes),
        DISK_TEST(entries_are_listed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
