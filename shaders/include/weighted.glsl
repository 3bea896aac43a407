// The result of attention for a query, from the sum of its weighted values and the sum of its
// weights. A query without any key gives NaN if nans is 1, else 0. A query whose weights are NaN
// gives 0 if nans is 2.
float weighted(float values, float weights, uint nans) {
    if (weights != 0.0 && !(nans == 2 && is_nan(weights))) return values / weights;
    return nans == 1 ? NAN : 0.0;
}
