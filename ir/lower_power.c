/* lower_power: a ** b of integers and floats.
 *
 * In: the operands of a power. Out: multiplications. A constant exponent gives a fixed sequence of
 * them, from the left; a run-time exponent of integers a loop of square and multiply, from the
 * right; other float powers are the target's pow. With check=True `fits` says whether all products
 * of an `int` stayed within 64 bits.
 *
 *     x ** 6  ->  %a = mul x, x    %b = mul %a, x    mul %b, %b
 *
 * A run-time exponent by repeated selects, without a loop, lost: 64 rounds for every power. */
#include "ir/lower.h"

static ir_ref
power_mul(struct lower *l, enum ir_op mul, ir_ref a, ir_ref b, ir_ref *fits)
{
    ir_ref r = lower_op2(l, mul, a, b);
    if (fits)
        *fits = lower_op2(l, IR_AND, *fits, lower_mul_fits(l, a, b, r));
    return r;
}

/* x ** k, k > 0: the bits of k behind its highest one, from the left: square, and times x for a
 * one. So x**3 = (x*x)*x, x**6 = (x**3)*(x**3). */
static ir_ref
power_product(struct lower *l, enum ir_op mul, ir_ref x, uint64_t k, ir_ref *fits)
{
    ir_ref r = x;
    for (int bit = 62 - __builtin_clzll(k); bit >= 0; bit--) {
        r = power_mul(l, mul, r, r, fits);
        if (k >> bit & 1)
            r = power_mul(l, mul, r, x, fits);
    }
    return r;
}

/* Square and multiply from the right; a negative exponent starts with result 0 and no rounds. */
static ir_ref
power_int_power(struct lower *l, ir_ref x, ir_ref exponent, ir_type machine, ir_ref *fits)
{
    ir_ref zero = lower_int(l, machine, 0), one = lower_int(l, machine, 1);
    ir_ref none = lower_int(l, IR_T_I64, 0), bit = lower_int(l, IR_T_I64, 1);
    ir_ref negative = lower_icmp(l, IR_ICMP_SLT, exponent, none);
    ir_ref yes = lower_bool(l, true);
    ir_ref first[] = {lower_select(l, negative, zero, one), x,
                      lower_select(l, negative, none, exponent), fits ? *fits : yes, yes};
    struct lower_loop loop;
    lower_loop_open(l, &loop, fits ? 5 : 3, first);
    ir_ref r = loop.phis[0], square = loop.phis[1], left = loop.phis[2];
    lower_loop_test(l, &loop, lower_icmp(l, IR_ICMP_NE, left, none));
    ir_ref odd = lower_icmp(l, IR_ICMP_NE, lower_op2(l, IR_AND, left, bit), none);
    ir_ref factor = lower_select(l, odd, square, one);
    ir_ref next[] = {lower_op2(l, IR_MUL, r, factor), lower_op2(l, IR_MUL, square, square),
                     lower_op2(l, IR_LSHR, left, bit), yes, yes};
    if (fits) { /* a square that is too large counts where it is used */
        ir_ref r_fits = loop.phis[3], square_fits = loop.phis[4];
        ir_ref used = lower_select(l, odd, square_fits, yes);
        used = lower_op2(l, IR_AND, used, lower_mul_fits(l, r, factor, next[0]));
        next[3] = lower_op2(l, IR_AND, r_fits, used);
        next[4] = lower_op2(l, IR_AND, square_fits, lower_mul_fits(l, square, square, next[1]));
    }
    lower_loop_close(l, &loop, next);
    if (fits)
        *fits = loop.phis[3];
    return r;
}

static struct lower_value
power_ipow(struct lower *l, ir_ref a_py, ir_ref b_py, ir_type type)
{
    ir_type machine = lower_machine(l, type);
    ir_ref a = lower_get_as(l, a_py, type), b, r;
    struct lower_value count = lower_get(l, b_py);
    int64_t k;
    ir_ref fits_value = lower_bool(l, true);
    ir_ref *fits = l->ctx->options.check && type == IR_T_INT ? &fits_value : NULL;
    lower_check_power(l, lower_scalar(l, type, a), count, 0);
    if (count.type == IR_T_UINT64) /* no sign; a loop of at most 64 rounds all the same */
        b = count.parts[0];
    else
        b = lower_convert(l, count, IR_T_INT).parts[0];
    if (!lower_int_of(l, b, &k) || (count.type == IR_T_UINT64 && k < 0)) {
        if (count.type == IR_T_UINT64) {
            /* Halving once makes the count positive: x**b = (x*x)**(b >> 1) * (x if b is odd). */
            ir_ref bit = lower_int(l, IR_T_I64, 1), one = lower_int(l, machine, 1);
            ir_ref odd =
                lower_icmp(l, IR_ICMP_NE, lower_op2(l, IR_AND, b, bit), lower_int(l, IR_T_I64, 0));
            ir_ref half = lower_op2(l, IR_LSHR, b, bit), factor = lower_select(l, odd, a, one);
            ir_ref square = power_mul(l, IR_MUL, a, a, fits);
            if (fits)
                *fits = lower_op2(l, IR_OR, *fits,
                                  lower_icmp(l, IR_ICMP_EQ, half, lower_int(l, IR_T_I64, 0)));
            r = power_int_power(l, square, half, machine, fits);
            r = power_mul(l, IR_MUL, r, factor, fits);
        } else {
            r = power_int_power(l, a, b, machine, fits);
        }
    } else if (k <= 0) {
        r = lower_int(l, machine, k == 0);
    } else {
        r = power_product(l, IR_MUL, a, (uint64_t)k, fits);
    }
    if (fits)
        lower_check_power(l, lower_scalar(l, type, a), count, *fits);
    return lower_scalar(l, type, r);
}

/* Whether the exponent is a whole constant of the program from -8 to 8, written as an int or a
 * float. */
static bool
power_small_exponent(const struct lower *l, ir_ref b_py, int64_t *k_out)
{
    const struct ir_insn *insn = ir_insn(l->from, b_py);
    if (insn->op == IR_CONST && ir_const_info(l->py, insn->imm)->kind == IR_C_FLOAT) {
        double k = ir_const_info(l->py, insn->imm)->f;
        if (!(k >= -8 && k <= 8) || k != (double)(int64_t)k)
            return false;
        *k_out = (int64_t)k;
        return true;
    }
    return ir_program_int(l->py, l->from, b_py, k_out) && *k_out >= -8 && *k_out <= 8;
}

struct lower_value
lower_pow(struct lower *l, ir_ref a_py, ir_ref b_py, ir_type type)
{
    if (!ir_is_float(type))
        return power_ipow(l, a_py, b_py, type);
    ir_type machine = lower_machine(l, type);
    ir_ref a = lower_get_as(l, a_py, type);
    int64_t k;
    if (!power_small_exponent(l, b_py, &k)) {
        ir_ref b = lower_get_as(l, b_py, type);
        lower_check_float_power(l, a, b, type);
        return lower_scalar(l, type, lower_intrin2(l, IR_INTRIN_POW, a, b));
    }
    ir_ref one = lower_float(l, machine, 1);
    if (k == 0)
        return lower_scalar(l, type, one);
    if (k < 0)
        lower_check_float_power(l, a, lower_float(l, machine, (double)k), type);
    ir_ref r = power_product(l, IR_FMUL, a, (uint64_t)(k < 0 ? -k : k), NULL);
    return lower_scalar(l, type, k < 0 ? lower_op2(l, IR_FDIV, one, r) : r);
}
