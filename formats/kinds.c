/* SPDX-License-Identifier: MIT */
#include "formats/kinds.h"

#include <string.h>

/* X for the lists of three and of four: the name, when the number is asked for. */
#define NAME_3(symbol, number, name) \
    if (asked == (number))           \
        return (name);
#define NAME_4(symbol, number, name, meaning) NAME_3(symbol, number, name)

const char *td_module_kind_name(unsigned asked)
{
    TD_MODULE_KINDS(NAME_4)
    return "?";
}

const char *td_unit_name(unsigned asked)
{
    TD_UNITS(NAME_3)
    return "?";
}

const char *td_column_kind_name(unsigned asked)
{
    TD_COLUMN_KINDS(NAME_4)
    return "?";
}

const char *td_group_role_name(unsigned asked)
{
    TD_GROUP_ROLES(NAME_3)
    return "?";
}

const char *td_attribution_name(unsigned asked)
{
    TD_ATTRIBUTIONS(NAME_3)
    return "?";
}

const char *td_counter_name(unsigned asked)
{
    TD_COUNTERS(NAME_4)
    return "?";
}

const char *td_source_name(unsigned asked)
{
#define X(symbol, number, name, modelled, meaning) NAME_3(symbol, number, #name)
    TD_SOURCES(X)
#undef X
    return "?";
}

bool td_source_is_modelled(enum td_source_id source)
{
#define X(symbol, number, name, modelled, meaning) \
    if (source == (number))                        \
        return (modelled);
    TD_SOURCES(X)
#undef X
    return false;
}

enum td_source_id td_source_by_name(const char *text)
{
#define X(symbol, number, name, modelled, meaning) \
    if (text && strcmp(text, #name) == 0)          \
        return (number);
    TD_SOURCES(X)
#undef X
    return TD_SOURCE_NONE;
}

const char *td_method_name(unsigned asked)
{
    TD_METHODS(NAME_4)
    return "?";
}

enum td_method td_method_by_name(const char *text)
{
#define X(symbol, number, name, meaning)   \
    if (text && strcmp(text, (name)) == 0) \
        return (number);
    TD_METHODS(X)
#undef X
    return TD_METHOD_AUTO;
}

static const char *const env_keys[TD_ENV_COUNT] = {
#define X(symbol, key, meaning) [TD_ENV_##symbol] = (key),
    TD_ENV_KEYS(X)
#undef X
};

const char *td_env_key_name(enum td_env_key key)
{
    return (unsigned)key < TD_ENV_COUNT ? env_keys[key] : "?";
}

enum td_env_key td_env_key_by_name(const char *name)
{
    for (unsigned i = 0; i < TD_ENV_COUNT; i++) {
        if (strcmp(env_keys[i], name) == 0)
            return (enum td_env_key)i;
    }
    return TD_ENV_COUNT;
}
