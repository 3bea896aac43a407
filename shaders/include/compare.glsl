// The functions of eltwise/compare, by the names of the CPU's kernels.
#define F_eq 1
#define F_gt 2
#define F_ge 3
