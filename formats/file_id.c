/* SPDX-License-Identifier: MIT */
#include "formats/file_id.h"

#include <endian.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"

/* No linker writes ids of 24 bytes (--build-id makes 8, 16 or 20). */
#define MARK_BYTES 8
#define ID_BYTES   24

static const char content_mark[MARK_BYTES] = "content";
static const char inode_mark[MARK_BYTES] = "inode\0";

static bool is_marked(const struct td_build_id *id, const char *mark)
{
    return id->size == ID_BYTES && memcmp(id->bytes, mark, MARK_BYTES) == 0;
}

enum td_file_id_kind td_file_id_kind(const struct td_build_id *id)
{
    if (id->size == 0)
        return TD_FILE_ID_NONE;
    if (is_marked(id, content_mark))
        return TD_FILE_ID_CONTENT;
    return is_marked(id, inode_mark) ? TD_FILE_ID_INODE : TD_FILE_ID_BUILD;
}

static struct td_build_id marked(const char *mark, uint64_t first, uint64_t second)
{
    struct td_build_id id = {.size = ID_BYTES};

    first = htole64(first);
    second = htole64(second);
    memcpy(id.bytes, mark, MARK_BYTES);
    memcpy(id.bytes + MARK_BYTES, &first, sizeof(first));
    memcpy(id.bytes + MARK_BYTES + sizeof(first), &second, sizeof(second));
    return id;
}

struct td_build_id td_file_id_of_inode(const struct td_file_inode *inode)
{
    return marked(inode_mark, (uint64_t)inode->minor << 32 | inode->major, inode->inode);
}

struct td_file_inode td_file_id_inode(const struct td_build_id *id)
{
    uint64_t device = 0, inode = 0;

    memcpy(&device, id->bytes + MARK_BYTES, sizeof(device));
    memcpy(&inode, id->bytes + MARK_BYTES + sizeof(device), sizeof(inode));
    device = le64toh(device);
    return (struct td_file_inode){
        .major = (uint32_t)device, .minor = (uint32_t)(device >> 32), .inode = le64toh(inode)};
}

static void add_word(struct td_file_hash *hash, uint64_t word)
{
    hash->state[0] = td_hash_mix(hash->state[0], word);
    hash->state[1] = td_hash_mix(hash->state[1], word);
}

struct td_file_hash td_file_hash_init(uint64_t file_size)
{
    struct td_file_hash hash = {.state = {0, 1}};

    add_word(&hash, file_size);
    return hash;
}

void td_file_hash_add(struct td_file_hash *hash, const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < size; i += sizeof(uint64_t)) {
        uint64_t word = 0;

        memcpy(&word, data + i, size - i < sizeof(word) ? size - i : sizeof(word));
        add_word(hash, le64toh(word));
    }
}

struct td_build_id td_file_hash_id(const struct td_file_hash *hash)
{
    return marked(content_mark, hash->state[0], hash->state[1]);
}

void td_file_id_build_text(const struct td_build_id *id, char *text, size_t size)
{
    text[0] = '\0';
    if (td_file_id_kind(id) != TD_FILE_ID_BUILD)
        return;
    for (size_t i = 0; i < id->size && 2 * i + 3 <= size; i++)
        snprintf(text + 2 * i, size - 2 * i, "%02x", id->bytes[i]);
}
