// Sums of searches for the scales of quantised weights.
#ifndef NACRE_QUANT_SEARCH_H
#define NACRE_QUANT_SEARCH_H

#include <stddef.h>

// NACRE_SEARCH_LANES is the number of groups of elements that a search has side by side.
enum { NACRE_SEARCH_LANES = 16 };

// NACRE_SEARCH_TABLE is the length of a table. Number i of it is for positions near i - 512.
enum { NACRE_SEARCH_TABLE = 1024, NACRE_SEARCH_MIDDLE = 512 };

// nacre_f32_search computes, for each try and each lane, the sums over size elements x with weights
// w of w*q, w*q*q and w*q*x. With p = x * inverse + shift, q is the nearest integer to p, ties to
// even, or the nearer of low and high. If there is a table, q is its number for this integer, and
// low and high are the ends of the table. Element e of lane l is at e * NACRE_SEARCH_LANES + l, and
// so are numbers of try e; sums has three such rows for each try. Numbers p are finite.
// Products and sums are rounded one by one, in the order of elements, so that all variants give the
// same bits.
typedef void nacre_f32_search_fn(size_t size, size_t tries, float low, float high, const float *table, const float *x,
                                 const float *w, const float *inverse, const float *shift, float *sums);

// nacre_f32_whole finds, for each lane, the whole number n within reach of whole, between least and
// most, with which codes of x leave the least error. The sums are f32_search's with an inverse scale
// of inverse / n, or 0 for n = 0, and without shifts. The loss is a * (a * sum(w*q*q) - 2 *
// sum(w*q*x)) with the scale a = unit * n. Numbers are tried from whole upwards, then downwards, and
// the first of those with the least loss replaces whole. sums gets its three rows, the first of them
// zeros. reach is positive.
typedef void nacre_f32_whole_fn(size_t size, size_t reach, float low, float high, const float *table, const float *x,
                                const float *w, const float *unit, const float *inverse, float least, float most,
                                float *whole, float *sums);

#endif
