/* SPDX-License-Identifier: MIT */
/* record/live: what an image of a running process holds is what the process had. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/live/imager.h"
#include "record/sim/share/live_image.h"

/* Whether strlen is the C library's, of which it has several versions. A sanitizer has its own. */
#if !defined(__x86_64__) || !defined(__GLIBC__) || defined(__SANITIZE_ADDRESS__) || \
    defined(__SANITIZE_THREAD__)
#    define HAS_VERSIONS 0
#else
#    define HAS_VERSIONS 1
#endif
#define TEXT_BYTES 100000

#define PAGE     4096
#define PATTERN  0x5a
#define OFFSET   12345
#define FAR_PAGE 9 /* of 16 pages of memory, one that has content */

/* What the process tells of itself before it spins. */
struct facts {
    atomic_int ready;
    uint8_t *memory, *file, *shared, *none;
    int descriptor;
};

static struct facts *facts; // NOLINT: shared with the process

/* What is started here ends with the test, or at the latest after a minute. */
static void be_mortal(void)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(60);
}

static _Noreturn void spin(const char *path)
{
    be_mortal();
    facts->memory =
        mmap(NULL, 16 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    facts->none = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    facts->shared = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    facts->descriptor = open(path, O_RDONLY);
    facts->file = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, facts->descriptor, 0);
    memset(facts->memory + FAR_PAGE * PAGE, PATTERN, PAGE);
    memset(facts->shared + PAGE, PATTERN + 1, PAGE);
    facts->file[2 * PAGE] = PATTERN + 2;
    lseek(facts->descriptor, OFFSET, SEEK_SET);
    atomic_store(&facts->ready, 1);
#ifdef __x86_64__
    __asm__ volatile("mov $0x1122334455667788, %%r12\n mov $0x99, %%r13\n movq %%r12, %%xmm7\n"
                     "1: add $1, %%rax\n jmp 1b" ::
                         : "r12", "r13", "rax", "xmm7");
#endif
    for (;;)
        ;
}

/* A file of four pages, "file" repeated; its path in `path`. */
static void make_file(char *path)
{
    const int fd = mkstemp(path);

    for (int i = 0; i < 4 * PAGE; i += 4)
        assert_int_equal(write(fd, "file", 4), 4);
    close(fd);
}

static int ask_once(struct td_imager *imager, pid_t process, uint64_t number, int fd)
{
    const struct td_imager_order order = {.processes = &process, .count = 1, .number = number};

    return td_imager_ask(imager, &order, fd, NULL);
}

static struct td_live_result ask(struct td_imager *imager, pid_t process, int fd)
{
    struct td_live_result result;
    struct pollfd wait = {.fd = td_imager_fd(imager), .events = POLLIN};

    for (int tries = 0; tries < 100; tries++) {
        assert_int_equal(ask_once(imager, process, 5, fd), TD_OK);
        assert_int_equal(ask_once(imager, process, 6, fd), TD_EUSAGE);
        while (!td_imager_answer(imager, &result))
            poll(&wait, 1, 1000);
        if (result.outcome != TD_LIVE_IDLE && result.outcome != TD_LIVE_IN_CALL)
            break;
    }
    return result;
}

/* The last mapping that has the address: what a loader's last mmap leaves there. */
static const struct td_live_mapping *at(const struct td_live_image *image, const void *address)
{
    static const struct td_live_mapping none = {.name = ""};
    const struct td_live_mapping *found = &none;

    for (size_t i = 0; i < image->mapping_count; i++) {
        const struct td_live_mapping *m = &image->mappings[i];

        if ((uint64_t)(uintptr_t)address - m->start < m->size)
            found = m;
    }
    assert_ptr_not_equal(found, &none);
    return found;
}

static const uint8_t *content(const struct td_live_image *image, const uint8_t *data,
                              const void *address)
{
    const struct td_live_mapping *m = at(image, address);

    assert_int_equal(m->content, TD_LIVE_DATA);
    return data + m->offset + ((uint64_t)(uintptr_t)address - m->start);
}

static void check_memory(const struct td_live_image *image, const uint8_t *data, const char *path)
{
    const uint8_t *page = content(image, data, facts->memory + FAR_PAGE * PAGE);

    for (int i = 0; i < PAGE; i++)
        assert_int_equal(page[i], PATTERN);
    assert_int_equal(*content(image, data, facts->memory), 0);
    assert_int_equal(*content(image, data, facts->shared + PAGE + 7), PATTERN + 1);
    assert_true(at(image, facts->shared)->flags & TD_LIVE_SHARED);
    assert_int_equal(at(image, facts->none)->content, TD_LIVE_NOTHING);
    assert_int_equal(at(image, facts->none)->protection, 0);
    page = content(image, data, facts->file + 2 * PAGE); /* changed: from the image */
    assert_int_equal(page[0], PATTERN + 2);
    assert_memory_equal(page + 4, "file", 4);
    assert_int_equal(at(image, facts->file + 2 * PAGE)->file_offset, 2 * PAGE);
    assert_int_equal(at(image, facts->file + PAGE)->content, TD_LIVE_FILE); /* not: from the file */
    assert_string_equal(at(image, facts->file + PAGE)->name, path);
}

static void check_registers(const struct td_live_image *image)
{
    const struct td_live_registers *registers = image->thread.registers;

    assert_int_equal(image->thread.registers_size, sizeof(registers->set));
    assert_int_equal(image->thread.address, td_isa_pc(registers));
#ifdef __x86_64__
    uint64_t xmm7;

    assert_int_equal(registers->set.r12, 0x1122334455667788);
    assert_int_equal(registers->set.r13, 0x99);
    memcpy(&xmm7, (const uint8_t *)image->thread.vector + 160 + 7 * 16, 8); /* FXSAVE's layout */
    assert_int_equal(xmm7, 0x1122334455667788);
    assert_int_equal(image->thread.thread_pointer, registers->set.fs_base);
#endif
    assert_true(image->thread.heap_end >= image->thread.heap_start);
    assert_true(image->thread.process_cpu_ns > 0);
}

static void check_files(const struct td_live_image *image, const char *path)
{
    bool found = false;

    for (size_t i = 0; i < image->file_count; i++) {
        const struct td_live_file *file = &image->files[i];

        if ((int)file->descriptor != facts->descriptor)
            continue;
        found = true;
        assert_int_equal(file->kind, TD_LIVE_READ);
        assert_int_equal(file->offset, OFFSET);
        assert_string_equal(file->name, path);
    }
    assert_true(found);
}

static void check_image(int fd, const char *path)
{
    struct td_live_image image;
    struct stat st;

    assert_int_equal(fstat(fd, &st), 0);
    uint8_t *data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(data, MAP_FAILED);
    assert_int_equal(td_live_image_read(&image, data, (size_t)st.st_size, NULL), TD_OK);
    assert_int_equal(image.thread.number, 5);
    check_memory(&image, data, path);
    check_registers(&image);
    check_files(&image, path);
    td_live_image_release(&image);
    munmap(data, (size_t)st.st_size);
}

static void test_image(void **state)
{
    char path[] = "/tmp/td-capture-XXXXXX";
    struct td_imager *imager = NULL;

    (void)state;
    make_file(path);
    facts = mmap(NULL, sizeof(*facts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_int_equal(td_imager_new(&imager, NULL), TD_OK);
    const pid_t process = fork();
    if (process == 0)
        spin(path);
    while (!atomic_load(&facts->ready))
        usleep(1000);
    const int fd = memfd_create("image", MFD_CLOEXEC);
    const struct td_live_result result = ask(imager, process, fd);
    if (result.outcome == TD_LIVE_TAKEN)
        check_image(fd, path);
    const bool told = td_imager_cloned(imager, result.clone);
    const bool apart = !td_imager_cloned(imager, process) && !td_imager_asked(imager);
    td_imager_free(imager);
    kill(process, SIGKILL);
    waitpid(process, NULL, 0);
    unlink(path);
    close(fd);
    munmap(facts, sizeof(*facts));
    if (result.outcome == TD_LIVE_DENIED || result.outcome == TD_LIVE_MEMORY) {
        printf("skipped: ptrace is not allowed here: %s\n", result.text);
        exit(77);
    }
    assert_int_equal(result.outcome, TD_LIVE_TAKEN);
    assert_true(result.cloned);
    assert_true(told && apart);
}

#if HAS_VERSIONS

static _Noreturn void spin_in_library(void)
{
    char *volatile text = malloc(TEXT_BYTES + 1);

    be_mortal();
    memset(text, 'x', TEXT_BYTES);
    text[TEXT_BYTES] = '\0';
    atomic_store(&facts->ready, 1);
    munmap(facts, sizeof(*facts)); /* with shared memory a clone does not leave a function */
    while (strlen(text) == TEXT_BYTES)
        ;
    _exit(1);
}

/* The image stands behind strlen, with its result. */
static bool has_left(int fd, const struct td_live_result *result)
{
    struct td_live_image image;
    struct stat st;
    bool left = false;

    assert_int_equal(fstat(fd, &st), 0);
    uint8_t *data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(data, MAP_FAILED);
    assert_int_equal(td_live_image_read(&image, data, (size_t)st.st_size, NULL), TD_OK);
    const struct td_live_registers *registers = image.thread.registers;
    assert_int_equal(image.thread.address, result->address);
    if (td_isa_pc(registers) != result->address) {
        const char *name = at(&image, (void *)(uintptr_t)td_isa_pc(registers))->name; // NOLINT

        left = true;
        assert_int_equal(registers->set.rax, TEXT_BYTES);
        assert_non_null(strstr(name, "record_live_capture_test"));
    }
    td_live_image_release(&image);
    munmap(data, (size_t)st.st_size);
    return left;
}

/* Versions for AVX-512 are not used in the image, and a thread inside one has left it. */
static void test_repair(void **state)
{
    struct td_imager *imager = NULL;
    struct td_live_result result = {.outcome = TD_LIVE_TAKEN};
    bool left = false;

    (void)state;
    if (!__builtin_cpu_supports("avx512vl") || !__builtin_cpu_supports("avx512bw"))
        return; /* nothing to repair */
    facts = mmap(NULL, sizeof(*facts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_int_equal(td_imager_new(&imager, NULL), TD_OK);
    const pid_t process = fork();
    if (process == 0)
        spin_in_library();
    while (!atomic_load(&facts->ready))
        usleep(1000);
    for (int tries = 0; tries < 5 && !left && result.outcome == TD_LIVE_TAKEN; tries++) {
        const int fd = memfd_create("image", MFD_CLOEXEC);

        result = ask(imager, process, fd);
        if (result.outcome == TD_LIVE_TAKEN) {
            assert_true(result.redirected > 0);
            left = has_left(fd, &result);
        }
        close(fd);
    }
    td_imager_free(imager);
    kill(process, SIGKILL);
    waitpid(process, NULL, 0);
    assert_true(left || result.outcome != TD_LIVE_TAKEN); /* test_image skips where it cannot be */
}
#endif

/* What has ended, or never was, is told in a sentence. */
static void test_gone(void **state)
{
    struct td_imager *imager = NULL;
    const pid_t process = fork();

    (void)state;
    if (process == 0)
        _exit(0);
    waitpid(process, NULL, 0);
    assert_int_equal(td_imager_new(&imager, NULL), TD_OK);
    const int fd = memfd_create("image", MFD_CLOEXEC);
    assert_int_equal(ask_once(imager, process, 0, fd), TD_OK);
    struct td_live_result result;
    struct pollfd wait = {.fd = td_imager_fd(imager), .events = POLLIN};
    while (!td_imager_answer(imager, &result))
        poll(&wait, 1, 1000);
    assert_int_equal(result.outcome, TD_LIVE_IDLE);
    assert_string_equal(result.text, "no thread was running");
    kill(td_imager_id(imager), SIGKILL); /* as the kernel does when memory is out */
    siginfo_t info;
    waitid(P_PID, (id_t)td_imager_id(imager), &info, WEXITED | WNOWAIT);
    const int asked = ask_once(imager, process, 0, fd);
    if (asked == TD_OK) {
        while (!td_imager_answer(imager, &result))
            poll(&wait, 1, 1000);
        assert_int_equal(result.outcome, TD_LIVE_FAILED);
    } else {
        assert_int_equal(asked, TD_EIO);
    }
    td_imager_free(imager);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_image),
        cmocka_unit_test(test_gone),
#if HAS_VERSIONS
        cmocka_unit_test(test_repair),
#endif
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
