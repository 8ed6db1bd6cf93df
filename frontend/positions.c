/* positions: CPython's location table (co_linetable) to a source range per code unit.
 *
 * In: the table's bytes and the code's first line. Out: positions, as co_positions() lists them.
 * The format is that of 3.11 to 3.15 (CPython's InternalDocs/code_objects.md, "Locations"): entries
 * whose first byte has bit 7 set, a kind in bits 3 to 6 and a length in units less one in bits 0 to
 * 2; lines are differences from the entry before. A damaged table gives what was read up to the
 * damage. Lost alternative: the iterator co_positions(), a tuple of objects per unit and most of
 * the time of reading a function. */
#include "frontend/code.h"

enum { KIND_ONE_LINE = 10, KIND_NO_COLUMNS = 13, KIND_LONG = 14, KIND_NONE = 15 };

struct table {
    const uint8_t *at, *end;
    bool damaged;
};

static uint32_t
table_byte(struct table *table)
{
    if (table->at < table->end)
        return *table->at++;
    table->damaged = true;
    return 0;
}

/* Six bits a byte, the lowest first; bit 6 says that more follow. */
static uint32_t
table_number(struct table *table)
{
    uint32_t value = 0, byte = 64;
    for (unsigned shift = 0; byte & 64; shift += 6) {
        if (shift > 30) {
            table->damaged = true;
            return 0;
        }
        byte = table_byte(table);
        value |= (byte & 63) << shift;
    }
    return value;
}

/* The sign is the lowest bit. */
static int64_t
table_difference(struct table *table)
{
    uint32_t value = table_number(table);
    return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

static int32_t
table_clamp(int64_t value, int32_t unknown)
{
    return value < 0 || value > INT32_MAX ? unknown : (int32_t)value;
}

static struct fe_position
table_entry(struct table *table, uint32_t kind, int64_t *line)
{
    struct fe_position position = {.col = -1, .end_col = -1};
    if (kind == KIND_NONE)
        return position;
    int64_t lines = 0;
    if (kind < KIND_ONE_LINE) {
        uint32_t byte = table_byte(table);
        position.col = (int32_t)(kind * 8 + (byte >> 4 & 7));
        position.end_col = position.col + (int32_t)(byte & 15);
    } else if (kind < KIND_NO_COLUMNS) {
        *line += kind - KIND_ONE_LINE;
        position.col = (int32_t)table_byte(table);
        position.end_col = (int32_t)table_byte(table);
    } else {
        *line += table_difference(table);
    }
    if (kind == KIND_LONG) {
        lines = table_number(table);
        position.col = table_clamp((int64_t)table_number(table) - 1, -1);
        position.end_col = table_clamp((int64_t)table_number(table) - 1, -1);
    }
    position.line = table_clamp(*line, 0);
    position.end_line = table_clamp(*line + lines, 0);
    return position;
}

uint32_t
fe_positions_read(const uint8_t *bytes, uint32_t size_B, int32_t first_line, uint32_t n_units,
                  struct fe_position *positions)
{
    struct table table = {bytes, bytes + size_B, false};
    int64_t line = first_line;
    uint32_t n = 0;
    while (table.at < table.end && n < n_units) {
        uint32_t head = table_byte(&table);
        if (!(head & 128))
            break;
        struct fe_position position = table_entry(&table, head >> 3 & 15, &line);
        if (table.damaged)
            break;
        for (uint32_t left = (head & 7) + 1; left && n < n_units; left--)
            positions[n++] = position;
    }
    return n;
}
