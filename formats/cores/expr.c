/* SPDX-License-Identifier: MIT */
#include "formats/cores/expr.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "base/banned.h"

#define STEPS_MAX    256
#define DEPTH_MAX    32
#define NAME_MAX_LEN 96

enum op { OP_NUMBER, OP_VALUE, OP_ADD, OP_SUB, OP_MUL, OP_DIV, OP_MIN, OP_MAX, OP_LESS, OP_NEGATE };

struct step {
    enum op op;
    int index;
    double number;
};

struct td_expr {
    size_t len;
    struct step steps[STEPS_MAX];
};

struct parser {
    const char *text;
    size_t at;
    unsigned depth;
    struct td_expr *expr;
    td_expr_resolve_fn *resolve;
    const void *ctx;
    struct td_err *err;
};

static int parse_sum(struct parser *p);

static int fail(struct parser *p, const char *what)
{
    return td_fail_at(p->err, TD_EFORMAT, p->at, "formula '%s': %s", p->text, what);
}

static char peek(struct parser *p)
{
    while (p->text[p->at] == ' ' || p->text[p->at] == '\t')
        p->at++;
    return p->text[p->at];
}

static int emit(struct parser *p, struct step step)
{
    if (p->expr->len == STEPS_MAX)
        return fail(p, "is too long");
    p->expr->steps[p->expr->len++] = step;
    return TD_OK;
}

static int parse_number(struct parser *p)
{
    const size_t len = strspn(p->text + p->at, "0123456789.xabcdefABCDEF");
    char word[NAME_MAX_LEN];
    uint64_t whole = 0;
    double number = 0;

    if (len >= sizeof(word))
        return fail(p, "a number is too long");
    memcpy(word, p->text + p->at, len);
    word[len] = '\0';
    if (strncmp(word, "0x", 2) == 0 && td_parse_u64_base(word, 16, &whole))
        number = (double)whole;
    else if (!td_parse_double(word, &number))
        return fail(p, "is not a number");
    p->at += len;
    return emit(p, (struct step){.op = OP_NUMBER, .number = number});
}

static const struct function {
    const char *name;
    enum op op;
    unsigned arguments;
} functions[] = {{"min", OP_MIN, 2}, {"max", OP_MAX, 2}, {"less", OP_LESS, 4}};

static const struct function *find_function(const char *name)
{
    for (size_t i = 0; i < TD_ARRAY_SIZE(functions); i++) {
        if (strcmp(functions[i].name, name) == 0)
            return &functions[i];
    }
    return NULL;
}

/* "(a, b, ...)"; the name has been read. */
static int parse_call(struct parser *p, const struct function *function)
{
    for (unsigned i = 0; i < function->arguments; i++) {
        if (peek(p) != (i == 0 ? '(' : ','))
            return fail(p, i == 0 ? "min and max need (a, b), less needs (a, b, then, else)"
                                  : "expected ','");
        p->at++;
        const int rc = parse_sum(p);
        if (rc != TD_OK)
            return rc;
    }
    if (peek(p) != ')')
        return fail(p, "expected ')'");
    p->at++;
    return emit(p, (struct step){.op = function->op});
}

static bool is_name_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.';
}

static int parse_name(struct parser *p)
{
    char name[NAME_MAX_LEN];
    size_t len = 0;

    while (is_name_char(p->text[p->at + len]))
        len++;
    if (len >= sizeof(name))
        return fail(p, "a name is too long");
    memcpy(name, p->text + p->at, len);
    name[len] = '\0';
    const struct function *function = find_function(name);
    if (function) {
        p->at += len;
        return parse_call(p, function);
    }
    const int index = p->resolve(p->ctx, name);
    if (index < 0)
        return td_fail_at(p->err, TD_EFORMAT, p->at, "formula '%s': '%s' is not known", p->text,
                          name);
    p->at += len;
    return emit(p, (struct step){.op = OP_VALUE, .index = index});
}

static int parse_unit(struct parser *p)
{
    const char c = peek(p);
    int rc = TD_OK;

    if (++p->depth > DEPTH_MAX)
        return fail(p, "is nested too deeply");
    if (c == '(') {
        p->at++;
        rc = parse_sum(p);
        if (rc == TD_OK && peek(p) != ')')
            rc = fail(p, "expected ')'");
        else if (rc == TD_OK)
            p->at++;
    } else if (c == '-') {
        p->at++;
        rc = parse_unit(p);
        if (rc == TD_OK)
            rc = emit(p, (struct step){.op = OP_NEGATE});
    } else if (isdigit((unsigned char)c)) {
        rc = parse_number(p);
    } else if (isalpha((unsigned char)c) || c == '_') {
        rc = parse_name(p);
    } else {
        rc = fail(p, c ? "expected a value" : "ends too early");
    }
    p->depth--;
    return rc;
}

static int parse_product(struct parser *p)
{
    int rc = parse_unit(p);

    while (rc == TD_OK && (peek(p) == '*' || peek(p) == '/')) {
        const enum op op = p->text[p->at++] == '*' ? OP_MUL : OP_DIV;

        rc = parse_unit(p);
        if (rc == TD_OK)
            rc = emit(p, (struct step){.op = op});
    }
    return rc;
}

static int parse_sum(struct parser *p)
{
    int rc = parse_product(p);

    while (rc == TD_OK && (peek(p) == '+' || peek(p) == '-')) {
        const enum op op = p->text[p->at++] == '+' ? OP_ADD : OP_SUB;

        rc = parse_product(p);
        if (rc == TD_OK)
            rc = emit(p, (struct step){.op = op});
    }
    return rc;
}

int td_expr_compile(struct td_expr **ret, const char *text, td_expr_resolve_fn *resolve,
                    const void *ctx, struct td_err *err)
{
    struct td_expr *expr = td_xcalloc(1, sizeof(*expr));
    struct parser p = {.text = text, .expr = expr, .resolve = resolve, .ctx = ctx, .err = err};
    int rc = parse_sum(&p);

    if (rc == TD_OK && peek(&p) != '\0')
        rc = fail(&p, "has something after its end");
    if (rc != TD_OK) {
        td_expr_free(expr);
        return rc;
    }
    *ret = expr;
    return TD_OK;
}

void td_expr_free(struct td_expr *expr)
{
    free(expr);
}

static double apply(enum op op, double a, double b)
{
    switch (op) {
    case OP_ADD: return a + b;
    case OP_SUB: return a - b;
    case OP_MUL: return a * b;
    case OP_DIV: return b == 0 ? NAN : a / b;
    /* fmin and fmax would drop a NaN. */
    case OP_MIN: return isnan(a) || isnan(b) ? NAN : fmin(a, b);
    case OP_MAX: return isnan(a) || isnan(b) ? NAN : fmax(a, b);
    case OP_NUMBER:
    case OP_VALUE:
    case OP_LESS:
    case OP_NEGATE: break;
    }
    return NAN;
}

/* Of (a, b, then, else). */
static double choose(const double *arguments)
{
    if (isnan(arguments[0]) || isnan(arguments[1]))
        return NAN;
    return arguments[0] < arguments[1] ? arguments[2] : arguments[3];
}

double td_expr_eval(const struct td_expr *expr, const double *values)
{
    double stack[STEPS_MAX] = {0}; /* td_expr_compile proved the depth; analyzers cannot see that */
    size_t top = 0;

    for (size_t i = 0; i < expr->len; i++) {
        const struct step *s = &expr->steps[i];

        if (s->op == OP_NUMBER) {
            stack[top++] = s->number;
        } else if (s->op == OP_VALUE) {
            stack[top++] = values[s->index];
        } else if (s->op == OP_NEGATE) {
            stack[top - 1] = -stack[top - 1];
        } else if (s->op == OP_LESS) {
            top -= 3;
            stack[top - 1] = choose(stack + top - 1);
        } else {
            top--;
            stack[top - 1] = apply(s->op, stack[top - 1], stack[top]);
        }
    }
    return stack[0];
}

int td_expr_input(const struct td_expr *expr, size_t i)
{
    for (size_t s = 0; s < expr->len; s++) {
        bool seen = expr->steps[s].op != OP_VALUE;

        for (size_t t = 0; t < s && !seen; t++)
            seen = expr->steps[t].op == OP_VALUE && expr->steps[t].index == expr->steps[s].index;
        if (!seen && i-- == 0)
            return expr->steps[s].index;
    }
    return -1;
}
