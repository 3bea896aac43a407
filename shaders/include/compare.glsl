// F_<name> numbers the functions of eltwise/compare. The CPU's kernels have the same names.
#define F_eq 1
#define F_gt 2
#define F_ge 3
