// F_<name> numbers the functions of reduce/window by their names in OpenInfer.
#define F_sum_axis 0
#define F_mean_axis 1
#define F_prod_axis 2
#define F_max_axis 3
#define F_min_axis 4
#define F_argmax_axis 5
#define F_argmin_axis 6
#define F_is_finite 7
