/* SPDX-License-Identifier: MIT */
#include "record/run/control.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"

/* No command is longer; what is, is none. */
#define LINE_BYTES 256

struct td_control {
    int fd, ack; /* -1: none, or not any more */
    bool owned;  /* we opened them */
    char bytes[4096];
    size_t len;            /* read, and not yet taken */
    char line[LINE_BYTES]; /* the last command, safe to print */
};

/* "fifo:PATH[,ACK]" and "fd:N[,ACK]" in parts; ack is NULL when there is none. */
struct words {
    bool fifo;
    char *in, *ack;
};

static void release(struct words *words)
{
    free(words->in);
    free(words->ack);
}

static bool is_descriptor(const char *text)
{
    uint64_t n = 0;

    return td_parse_u64(text, &n) && n <= INT32_MAX;
}

static int parse(struct words *words, const char *text, struct td_err *err)
{
    const char *rest = strchr(text, ':');
    const size_t kind = rest ? (size_t)(rest - text) : 0;

    *words = (struct words){.fifo = kind == 4 && strncmp(text, "fifo", 4) == 0};
    if (!words->fifo && (kind != 2 || strncmp(text, "fd", 2) != 0))
        return td_fail(err, TD_EUSAGE,
                       "--control %s: write fifo:PATH or fd:N, and ,ACK behind it for the answers",
                       text);
    const char *comma = strchr(++rest, ',');
    words->in = td_xstrndup(rest, comma ? (size_t)(comma - rest) : strlen(rest));
    words->ack = comma ? td_xstrdup(comma + 1) : NULL;
    if (words->in[0] == '\0' || (words->ack && words->ack[0] == '\0'))
        return td_fail(err, TD_EUSAGE, "--control %s: a %s is missing", text,
                       words->fifo ? "path" : "number");
    const char *bad = !is_descriptor(words->in)                  ? words->in
                      : words->ack && !is_descriptor(words->ack) ? words->ack
                                                                 : NULL;
    if (!words->fifo && bad)
        return td_fail(err, TD_EUSAGE, "--control %s: '%s' is no number of a descriptor", text,
                       bad);
    return TD_OK;
}

int td_control_check(const char *text, struct td_err *err)
{
    struct words words = {0};
    const int rc = parse(&words, text, err);

    release(&words);
    return rc;
}

/* For reading and writing, as perf does: it does not wait for the other side, and the FIFO stays
 * open while writers come and go. */
static int open_fifo(int *ret, const char *path, struct td_err *err)
{
    struct stat status;

    *ret = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (*ret < 0 && errno == ENOENT)
        return td_fail(err, TD_EIO, "--control: there is no FIFO '%s' (make it: mkfifo %s)", path,
                       path);
    if (*ret < 0)
        return td_fail_errno(err, TD_EIO, errno, "--control: cannot open the FIFO '%s'", path);
    if (fstat(*ret, &status) < 0 || !S_ISFIFO(status.st_mode))
        return td_fail(err, TD_EIO, "--control: '%s' is not a FIFO (mkfifo makes one)", path);
    return TD_OK;
}

/* One that we inherited, and that can be read (or written). */
static int take_descriptor(int *ret, const char *text, bool written, struct td_err *err)
{
    uint64_t number = 0;
    const int fd = td_parse_u64(text, &number) ? (int)number : -1;
    const int flags = fcntl(fd, F_GETFL);
    const int mode = flags & O_ACCMODE;

    if (flags < 0)
        return td_fail(err, TD_EIO, "--control: descriptor %d is not open", fd);
    if (mode == (written ? O_RDONLY : O_WRONLY))
        return td_fail(err, TD_EIO, "--control: descriptor %d cannot be %s", fd,
                       written ? "written" : "read");
    *ret = fd;
    return TD_OK;
}

int td_control_open(struct td_control **ret, const char *text, struct td_err *err)
{
    struct td_control *control = td_xcalloc(1, sizeof(*control));
    struct words words = {0};
    int rc = parse(&words, text, err);

    control->fd = control->ack = -1;
    control->owned = words.fifo;
    if (rc == TD_OK)
        rc = words.fifo ? open_fifo(&control->fd, words.in, err)
                        : take_descriptor(&control->fd, words.in, false, err);
    if (rc == TD_OK && words.ack)
        rc = words.fifo ? open_fifo(&control->ack, words.ack, err)
                        : take_descriptor(&control->ack, words.ack, true, err);
    release(&words);
    if (rc < 0) {
        td_control_close(control);
        control = NULL;
    }
    *ret = control;
    return rc;
}

void td_control_close(struct td_control *control)
{
    if (!control)
        return;
    if (control->owned && control->fd >= 0)
        close(control->fd);
    if (control->owned && control->ack >= 0)
        close(control->ack);
    free(control);
}

int td_control_fd(const struct td_control *control)
{
    return control->fd;
}

bool td_control_read(struct td_control *control)
{
    const size_t room = sizeof(control->bytes) - control->len;
    const ssize_t got =
        control->fd < 0 ? 0 : read(control->fd, control->bytes + control->len, room);

    if (got > 0)
        control->len += (size_t)got;
    if (got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR)))
        return true;
    if (control->owned && control->fd >= 0)
        close(control->fd);
    control->fd = -1;
    return false;
}

static enum td_control_command command_of(const char *line, size_t len)
{
    static const char *const words[] = {
#define X(symbol, word) [TD_CONTROL_##symbol] = (word),
        TD_CONTROL_COMMANDS(X)
#undef X
    };

    for (size_t i = TD_CONTROL_NONE + 1; i < TD_ARRAY_SIZE(words); i++) {
        const size_t word = strlen(words[i]);

        /* evlist has options (-v, -g, -F), which ask for details. */
        if (strncmp(line, words[i], len < word ? len : word) == 0 &&
            (len == word || (i == TD_CONTROL_EVLIST && len > word && line[word] == ' ')))
            return (enum td_control_command)i;
    }
    return TD_CONTROL_UNKNOWN;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* A command ends at a line's end or a 0 byte; `printf enable >FIFO` has none, and is whole where it
 * is one. */
enum td_control_command td_control_next(struct td_control *control, const char **text)
{
    enum td_control_command command = TD_CONTROL_NONE;

    *text = control->line;
    while (command == TD_CONTROL_NONE && control->len) {
        size_t end = 0, from = 0;

        while (end < control->len && control->bytes[end] != '\n' && control->bytes[end] != '\0')
            end++;
        const bool ended = end < control->len;
        size_t to = end;
        while (from < to && is_space(control->bytes[from]))
            from++;
        while (to > from && is_space(control->bytes[to - 1]))
            to--;
        if (to > from)
            command = command_of(control->bytes + from, to - from);
        if (!ended && command == TD_CONTROL_UNKNOWN && control->len < sizeof(control->bytes) &&
            control->fd >= 0)
            return TD_CONTROL_NONE;
        td_text_safe(control->line, sizeof(control->line), control->bytes + from, to - from);
        control->len -= end + ended;
        memmove(control->bytes, control->bytes + end + ended, control->len);
    }
    return command;
}

/* As many bytes each: who reads five of them has the next answer before it. perf's has a 0 byte. */
bool td_control_answer(struct td_control *control, bool done)
{
    static const char ack[5] = "ack\n", nack[5] = {'n', 'a', 'c', 'k', '\n'};
    struct pollfd fd = {.fd = control->ack, .events = POLLOUT};

    if (control->ack < 0)
        return true;
    if (poll(&fd, 1, 0) == 1 && fd.revents == POLLOUT &&
        write(control->ack, done ? ack : nack, sizeof(ack)) == sizeof(ack))
        return true;
    if (control->owned)
        close(control->ack);
    control->ack = -1;
    return false;
}
