/* BLAKE2b: the example of RFC 7693's appendix A, and digests that Python's hashlib computed over
 * bytes (7 i + 1) mod 256. */
#include "tests/support/check.h"

#include <stdio.h>

#include "support/hash.h"

static void
assert_digest(const char *expected, const uint8_t *digest, size_t digest_B)
{
    char text[129];
    for (size_t i = 0; i < digest_B; i++)
        snprintf(text + 2 * i, 3, "%02x", digest[i]);
    assert_string_equal(text, expected);
}

static void
known_digests_are_met(void **state)
{
    (void)state;
    static const struct {
        size_t len, digest_B;
        const char *digest;
    } rows[] = {
        {0, 16, "cae66941d9efbd404e4d88758ea67670"},
        {1, 16, "4a9e6f9b8d43f6ad008f8c291929dee2"},
        {127, 16, "4a6ed0477804afacb35109abac7f0c14"},
        {128, 16, "10987546059f4ba6e114f4933aee33a2"},
        {129, 16, "25bd156630f298793992d28a84e4628c"},
        {256, 16, "b9480d67db85c898e34fc1bba4ad1e19"},
        {1000, 16, "81536df771ff23cdb89da9c53075bb4a"},
        {0, 64,
         "786a02f742015903c6c6fd852552d272912f4740e15847618a86e217f71f5419"
         "d25e1031afee585313896444934eb04b903a685b1448b755d56f701afe9be2ce"},
        {255, 64,
         "a4905fba298210e6f4ea9be3817806d8bf8c7b279b812f6a1ba01f4481227a02"
         "aabbe523199fe346452a9ac9882215d22852af1b3041825d60f58d303e8be005"},
        {3, 1, "8e"},
        {3, 33, "69959f393d240b966f0592996e5525eef4899daa3b5167d6adf55722c1b0d78dda"},
    };
    uint8_t bytes[1000], digest[64];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(7 * i + 1);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct sp_hash hash;
        sp_hash_init_n(&hash, rows[i].digest_B);
        sp_hash_add(&hash, bytes, rows[i].len);
        sp_hash_end_n(&hash, digest);
        assert_digest(rows[i].digest, digest, rows[i].digest_B);
    }
}

static void
the_example_of_the_rfc_is_met(void **state)
{
    (void)state;
    struct sp_hash hash;
    uint8_t digest[64];
    sp_hash_init_n(&hash, 64);
    sp_hash_add(&hash, "abc", 3);
    sp_hash_end_n(&hash, digest);
    assert_digest("ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d1"
                  "7d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923",
                  digest, 64);
}

static void
pieces_do_not_matter(void **state)
{
    (void)state;
    uint8_t bytes[600];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * i >> 3);
    struct sp_hash hash;
    sp_hash_init(&hash);
    sp_hash_add(&hash, bytes, sizeof bytes);
    const struct sp_digest whole = sp_hash_end(&hash);
    for (size_t piece = 1; piece < 300; piece += 13) {
        sp_hash_init(&hash);
        for (size_t i = 0; i < sizeof bytes; i += piece)
            sp_hash_add(&hash, bytes + i, i + piece < sizeof bytes ? piece : sizeof bytes - i);
        const struct sp_digest digest = sp_hash_end(&hash);
        assert_memory_equal(&digest, &whole, sizeof whole);
    }
}

static struct sp_digest
digest_of_texts(const char *first, const char *second)
{
    struct sp_hash hash;
    sp_hash_init(&hash);
    sp_hash_add_text(&hash, first);
    sp_hash_add_text(&hash, second);
    return sp_hash_end(&hash);
}

static void
neighbouring_texts_do_not_run_together(void **state)
{
    (void)state;
    const struct sp_digest a = digest_of_texts("ab", "c"), b = digest_of_texts("a", "bc");
    const struct sp_digest again = digest_of_texts("ab", "c");
    assert_memory_not_equal(&a, &b, sizeof a);
    assert_memory_equal(&a, &again, sizeof a);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_digests_are_met),
        cmocka_unit_test(the_example_of_the_rfc_is_met),
        cmocka_unit_test(pieces_do_not_matter),
        cmocka_unit_test(neighbouring_texts_do_not_run_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
