// The activations that elementwise kernels and recurrent layers compute alike. The table takes
// A(ROW, t, T, name, plain, vector): the function of x with parameters p and q, in double for any
// type, and on vectors of core/vec.h, where M(name) is a function of f32_math.inc. ROW, t and T are
// passed on. runtime/internal/ops/kit has the same functions in its table of activations, in this
// order.
#ifndef NACRE_ELTWISE_ACTIVATIONS_H
#define NACRE_ELTWISE_ACTIVATIONS_H

#define NACRE_ACTIVATIONS(A, ROW, t, T)                                                                        \
    A(ROW, t, T, relu, x < 0 ? 0 : x, V(max)(C(0.0f), x))                                                      \
    A(ROW, t, T, tanh, tanh((double)x), M(tanh)(x))                                                            \
    A(ROW, t, T, sigmoid, 1 / (1 + exp(-(double)x)), M(sigmoid)(x))                                            \
    A(ROW, t, T, leaky_relu, x < 0 ? x * p : x, V(pick)(V(lt)(x, C(0.0f)), x *p, x))                           \
    A(ROW, t, T, elu, x < 0 ? p * expm1((double)x) : (double)x, V(pick)(V(lt)(x, C(0.0f)), p *M(expm1)(x), x)) \
    A(ROW, t, T, softsign, x / (1 + fabs(x)), x / (C(1.0f) + V(abs)(x)))                                       \
    A(ROW, t, T, softplus, fmax(x, 0) + log1p(exp(-fabs((double)x))), M(softplus)(x))

#endif
