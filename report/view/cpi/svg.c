/* SPDX-License-Identifier: MIT */
#include "report/view/cpi/svg.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "formats/frames.h"

/* In units of the picture, which are pixels when it is not scaled. */
enum {
    WIDTH = 800,
    MARGIN = 20,
    BAR_WIDTH = WIDTH - 2 * MARGIN,
    BAR_HEIGHT = 28,
    HEADING = 24, /* a heading, */
    LINE = 18,    /* a line of text, */
    GAP = 26,     /* and between two stacks */
    SWATCH = 12,
    NAME_X = MARGIN + SWATCH + 10,
    CPI_X = 440,
    SHARE_X = 540,
    ERROR_X = 640,
    NAME_CHARS = 60, /* columns of a function's name */
    LABEL_LEAST = 70 /* a part of a bar so wide has its name in it */
};

/* Light, so that black text can be read on them; the first is the base's. */
static const char *const colours[] = {"#c8c8c8", "#86b6e8", "#e8a33d", "#5fcca6", "#e2a6cd",
                                      "#a9dff6", "#f0905a", "#f0e442", "#c6c67a", "#d690ae"};

/* That which the component has in the stack of all; of those that it has not there, one by place.
 */
static const char *colour_of(const struct td_cpi *whole, const struct td_cpi *stack, size_t part)
{
    const size_t count = TD_ARRAY_SIZE(colours);
    size_t i = 0;

    while (i < whole->len &&
           (whole->at[i].kind != stack->at[part].kind || whole->at[i].node != stack->at[part].node))
        i++;
    i += i == whole->len ? part : 0;
    return i == 0 ? colours[0] : colours[1 + (i - 1) % (count - 1)];
}

static void put_text(FILE *out, const char *text)
{
    for (; *text; text++) {
        switch (*text) {
        case '&': fputs("&amp;", out); break;
        case '<': fputs("&lt;", out); break;
        case '>': fputs("&gt;", out); break;
        case '"': fputs("&quot;", out); break;
        default: fputc(*text, out); break;
        }
    }
}

/* A name of the program's, at most so many columns. */
static void put_name(FILE *out, const char *name)
{
    const struct td_style style = {.out = out, .utf8 = true};
    char fit[1024];

    td_fit_name(&style, fit, sizeof(fit), name, NAME_CHARS);
    put_text(out, fit);
}

static int height_of(const struct td_cpi *stack)
{
    return HEADING + LINE + BAR_HEIGHT + 2 * LINE + (int)stack->len * LINE + GAP;
}

static void put_figure(FILE *out, int x, int y, double value, int decimals, const char *unit)
{
    fprintf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">", x, y);
    if (isnan(value))
        fputs("-", out);
    else
        fprintf(out, "%.*f%s", decimals, value, unit);
    fputs("</text>", out);
}

static void put_bar(const struct td_cpi *whole, const struct td_cpi *stack, int y, FILE *out)
{
    double before = 0;
    char name[TD_CPI_NAME_BYTES];

    for (size_t i = 0; i < stack->len; i++) {
        const struct td_cpi_part *part = &stack->at[i];
        const double x = MARGIN + before * BAR_WIDTH, width = part->share * BAR_WIDTH;

        td_cpi_part_name(part, name, sizeof(name));
        fprintf(out,
                "<rect x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\" fill=\"%s\" "
                "stroke=\"#ffffff\"><title>",
                x, y, width, BAR_HEIGHT, colour_of(whole, stack, i));
        put_text(out, name);
        fprintf(out, ": %.3f, %.1f %%</title></rect>\n", part->cpi, 100 * part->share);
        if (width >= LABEL_LEAST && (double)strlen(name) * 7 < width)
            fprintf(out, "<text x=\"%.2f\" y=\"%d\" class=\"in\" aria-hidden=\"true\">%s</text>\n",
                    x + 4, y + BAR_HEIGHT - 9, name);
        before += part->share;
    }
}

static void put_part(const struct td_cpi *stack, size_t i, int y, const char *colour, FILE *out)
{
    const struct td_cpi_part *part = &stack->at[i];
    const int decimals = td_cpi_decimals(stack->cpi);
    char name[TD_CPI_NAME_BYTES];

    fprintf(out, "<g role=\"listitem\" data-slots=\"%llu\" data-share=\"%.15g\"",
            (unsigned long long)part->slots, part->share);
    if (!isnan(part->cpi))
        fprintf(out, " data-cpi=\"%.15g\"", part->cpi);
    fprintf(out, "><rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"%s\"/>", MARGIN,
            y - SWATCH + 2, SWATCH, SWATCH, colour);
    fprintf(out, "<text x=\"%d\" y=\"%d\">", NAME_X, y);
    put_text(out, td_cpi_part_name(part, name, sizeof(name)));
    fputs("</text>", out);
    put_figure(out, CPI_X, y, part->cpi, decimals, "");
    put_figure(out, SHARE_X, y, 100 * part->share, 1, " %");
    if (part->error > 0)
        put_figure(out, ERROR_X, y, part->error, decimals + 1, "");
    fputs("</g>\n", out);
}

static void put_table(const struct td_cpi *whole, const struct td_cpi *stack, int y, FILE *out)
{
    const bool errors = td_cpi_has_errors(stack);

    fprintf(out,
            "<g class=\"head\"><text x=\"%d\" y=\"%d\">component</text>"
            "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">CPI</text>"
            "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">share</text>",
            NAME_X, y, CPI_X, y, SHARE_X, y);
    if (errors)
        fprintf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">\xc2\xb1 CPI, 95 %%</text>",
                ERROR_X, y);
    fputs("</g>\n<g role=\"list\">\n", out);
    for (size_t i = 0; i < stack->len; i++)
        put_part(stack, i, y + (int)(i + 1) * LINE, colour_of(whole, stack, i), out);
    fputs("</g>\n", out);
}

/* `module` NULL: of all, `whole`. Returns where the next one begins. */
static int put_stack(const struct td_cpi *whole, const struct td_cpi *stack, const char *name,
                     const char *module, int y, FILE *out)
{
    fprintf(out, "<g role=\"group\" data-slots=\"%llu\"", (unsigned long long)stack->slots);
    if (!isnan(stack->cpi))
        fprintf(out, " data-cpi=\"%.15g\"", stack->cpi);
    fprintf(out, ">\n<text x=\"%d\" y=\"%d\" class=\"name\">", MARGIN, y + HEADING - 6);
    put_name(out, name);
    fputs("</text>\n", out);
    fprintf(out, "<text x=\"%d\" y=\"%d\">", MARGIN, y + HEADING + LINE - 6);
    if (module) {
        put_name(out, module);
        fputs(": ", out);
    }
    if (isnan(stack->cpi))
        fputs("CPI not known, no instruction ended here", out);
    else
        fprintf(out, "CPI %.*f, %.0f cycles, %llu instructions", td_cpi_decimals(stack->cpi),
                stack->cpi, stack->cycles, (unsigned long long)stack->instructions);
    fputs("</text>\n", out);
    put_bar(whole, stack, y + HEADING + LINE, out);
    put_table(whole, stack, y + HEADING + LINE + BAR_HEIGHT + LINE, out);
    fputs("</g>\n", out);
    return y + height_of(stack);
}

static void put_head(int height, const struct td_cpi_list *list, FILE *out)
{
    fprintf(out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "viewBox=\"0 0 %d %d\" role=\"img\" aria-labelledby=\"title desc\">\n"
            "<title id=\"title\">CPI stacks</title>\n"
            "<desc id=\"desc\">Cycles per instruction, divided among what the pipeline slots went "
            "to: of all, and of %zu %s%s. Each has a bar, and its figures as text.</desc>\n"
            "<style>text{font:13px sans-serif;fill:#111111}.name{font-weight:bold;font-size:15px}"
            ".head text{fill:#555555}.in{font-size:11px}</style>\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
            WIDTH, height, WIDTH, height, list->len, list->rows ? "function" : "loop",
            list->len == 1 ? "" : "s");
}

void td_cpi_svg(const struct td_cpi_view *view, const struct td_cpi_list *list, FILE *out)
{
    const struct td_model *model = view->basis->measure->model;
    const struct td_cpi whole = td_cpi_stack_of_all(view);
    int height = MARGIN + height_of(&whole), y = MARGIN;
    struct td_cpi_entry entry;

    for (size_t i = 0; i < list->len; i++) {
        td_cpi_entry_of(&entry, view, list, i);
        height += height_of(&entry.stack);
    }
    put_head(height, list, out);
    y = put_stack(&whole, &whole, "All", NULL, y, out);
    for (size_t i = 0; i < list->len; i++) {
        td_cpi_entry_of(&entry, view, list, i);
        y = put_stack(&whole, &entry.stack, entry.name, td_module_name(model, entry.module), y,
                      out);
    }
    fputs("</svg>\n", out);
}
