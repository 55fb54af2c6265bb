/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/text.h"
#include "report/view/page/page.h"
#include "report/view/page/page_shell.h"

#define TITLE_MAX 200

static void put(struct td_buf *out, const char *text)
{
    td_buf_bytes(out, text, strlen(text));
}

static void put_part(struct td_buf *out, size_t part)
{
    td_buf_bytes(out, td_page_shell[part].at, td_page_shell[part].len);
}

/* Text of an element, or of an attribute. */
static void put_text(struct td_buf *out, const char *text)
{
    for (; *text; text++) {
        switch (*text) {
        case '&': put(out, "&amp;"); break;
        case '<': put(out, "&lt;"); break;
        case '>': put(out, "&gt;"); break;
        case '"': put(out, "&quot;"); break;
        case '\'': put(out, "&#39;"); break;
        default: td_buf_u8(out, (uint8_t)*text); break;
        }
    }
}

/* JSON inside of a script element: what could end the element, or begin a comment in it, stands
 * only in strings, and is escaped there. Blanks and line ends between tokens are left out. */
static void put_data(struct td_buf *out, const char *data, size_t len)
{
    bool in_string = false;
    size_t plain = 0; /* data[plain..i) is waiting to be written as it is */

    for (size_t i = 0; i < len; i++) {
        const char c = data[i];

        if (in_string && c == '\\') {
            i++;
            continue;
        }
        if (c == '"')
            in_string = !in_string;
        if ((!in_string && (c == ' ' || c == '\n')) || c == '<') {
            td_buf_bytes(out, data + plain, i - plain);
            if (c == '<')
                put(out, "\\u003c");
            plain = i + 1;
        }
    }
    td_buf_bytes(out, data + plain, len - plain);
}

void td_page_html(struct td_buf *out, const char *title, const char *text, const char *data,
                  size_t data_len)
{
    char safe[TITLE_MAX];

    td_text_safe(safe, sizeof(safe), title, strlen(title));
    put_part(out, 0);
    put_text(out, safe);
    put_part(out, 1);
    put_text(out, text);
    put_part(out, 2);
    put_data(out, data, data_len);
    put_part(out, 3);
}
