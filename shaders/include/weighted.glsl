// weighted returns the result of attention for a query: its weighted sum of values, over its sum of
// weights. A query without keys gives NaN if nans is 1, else 0. If nans is 2, a query with NaN
// weights gives 0.
float weighted(float values, float weights, uint nans) {
    if (weights != 0.0 && !(nans == 2 && is_nan(weights))) return values / weights;
    return nans == 1 ? NAN : 0.0;
}
