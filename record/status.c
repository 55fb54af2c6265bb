/* SPDX-License-Identifier: MIT */
#include "record/status.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/pager.h"
#include "base/text.h"

/* Of fewer samples, the head of the profile is most of it. */
#define BYTES_FROM 1000

struct td_status td_status_init(FILE *out, bool quiet)
{
    const int fd = fileno(out);

    return (struct td_status){.out = out,
                              .quiet = quiet,
                              .live = !quiet && fd >= 0 && isatty(fd) && !td_terminal_is_plain()};
}

/* Takes the live line away, for what comes next; what the command left on its line stays. */
static void clear(struct td_status *status)
{
    if (status->shown)
        fprintf(status->out, "\0337\033[%uG\033[K\0338", status->column);
    status->shown = false;
}

/* In the background a write could stop us (stty tostop), and nobody looks. */
static bool in_foreground(const struct td_status *status)
{
    return tcgetpgrp(fileno(status->out)) == getpgrp();
}

static unsigned terminal_width(const struct td_status *status)
{
    struct winsize size = {0};

    return ioctl(fileno(status->out), TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : 80;
}

void td_status_live(struct td_status *status, const char *format, ...)
{
    char text[160];
    va_list args;

    if (!status->live || !in_foreground(status))
        return;
    va_start(args, format);
    const int len = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    const unsigned width = terminal_width(status);
    if (len < 0 || (unsigned)len >= width || len >= (int)sizeof(text))
        return;
    clear(status);
    /* At the right end, and the cursor back where it was: what the command prints next stands
     * where it would without us. */
    status->column = width - (unsigned)len;
    fprintf(status->out, "\0337\033[%uG\033[K%s\0338", status->column, text);
    fflush(status->out);
    status->shown = true;
}

void td_status_line(struct td_status *status, const struct td_status_figures *figures)
{
    char samples[32], lost[32], bytes[32];

    td_status_live(status, "tdrec %.0f s, %s samples, %s lost, %s",
                   (double)figures->elapsed_ns / 1e9,
                   td_format_count(samples, sizeof(samples), figures->samples),
                   td_format_count(lost, sizeof(lost), figures->lost),
                   td_format_bytes(bytes, sizeof(bytes), figures->bytes));
}

void td_status_note(struct td_status *status, const char *format, ...)
{
    char text[600], safe[1024];
    va_list args;

    if (status->quiet)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    clear(status);
    td_text_safe(safe, sizeof(safe), text, strlen(text));
    fprintf(status->out, "tdrec: %s\n", safe);
}

void td_status_error(struct td_status *status, const char *text)
{
    char safe[1024];

    clear(status);
    td_text_safe(safe, sizeof(safe), text, strlen(text));
    fprintf(status->out, "tdrec: %s\n", safe);
}

static void print_rate(const struct td_status_figures *figures, FILE *out)
{
    char text[32];

    if (figures->frequency_hz)
        fprintf(out, "%s Hz", td_format_count(text, sizeof(text), figures->frequency_hz));
    else
        fprintf(out, "period %s", td_format_count(text, sizeof(text), figures->period));
}

/* Samples of a counter stand for events, not for time: nothing is said of the time they cover. */
static void print_coverage(const struct td_status_figures *figures, FILE *out)
{
    char processes[32], threads[32];

    fprintf(out, "tdrec: %s process%s, %s thread%s",
            td_format_count(processes, sizeof(processes), figures->processes),
            figures->processes == 1 ? "" : "es",
            td_format_count(threads, sizeof(threads), figures->threads),
            figures->threads == 1 ? "" : "s");
    if (figures->counted_ns && figures->samples && !figures->sampled_ns)
        fprintf(out, "; %.2f s of CPU time", (double)figures->counted_ns / 1e9);
    else if (figures->counted_ns)
        fprintf(out, "; CPU time %.2f s counted, %.2f s sampled", (double)figures->counted_ns / 1e9,
                (double)figures->sampled_ns / 1e9);
    else if (figures->sampled_ns)
        fprintf(out, "; %.2f s of CPU time sampled", (double)figures->sampled_ns / 1e9);
    fputc('\n', out);
}

void td_status_summary(struct td_status *status, const struct td_status_figures *figures)
{
    char samples[32], lost[32], bytes[32], path[1024];
    FILE *out = status->out;

    clear(status);
    if (status->quiet)
        return;
    td_text_safe(path, sizeof(path), figures->path, strlen(figures->path));
    fprintf(out, "tdrec: %.2f s, %s sample%s (", (double)figures->elapsed_ns / 1e9,
            td_format_count(samples, sizeof(samples), figures->samples),
            figures->samples == 1 ? "" : "s");
    print_rate(figures, out);
    fprintf(out, ", %s events), %s lost", figures->method,
            td_format_count(lost, sizeof(lost), figures->lost));
    if (figures->throttled)
        fprintf(out, ", throttled %" PRIu64 " times", figures->throttled);
    fputc('\n', out);
    print_coverage(figures, out);
    fprintf(out, "tdrec: wrote %s, %s", path,
            td_format_bytes(bytes, sizeof(bytes), figures->bytes));
    if (figures->samples >= BYTES_FROM)
        fprintf(out, " (%.1f bytes per sample)", (double)figures->bytes / (double)figures->samples);
    if (strcmp(figures->path, "profile.td") == 0)
        fputs("\ntdrec: now type: tdreport\n", out);
    else
        fprintf(out, "\ntdrec: now type: tdreport -i %s\n", path);
    fflush(out);
}
