package openinfer

// opRow is one operator of the language.
type opRow struct {
	word    string
	inputs  int
	types   dtypeSet // of the inputs, which share one type
	attrs   []attrRule
	flags   opFlags
	result  dtype // of the output; noType if the inputs or an attribute decide
	extents func(c *call) ([]int, error)
	// lowered adds standard nodes that compute the operator and returns their result. If standard
	// operators do not compute the call exactly, it returns "", and the call becomes a node of the
	// domain openinfer.
	lowered func(c *call) string
}

// opFlags is a set of options that an operator allows.
type opFlags uint8

const (
	inPlace    opFlags = 1 << iota // the output may be an input
	accumulate                     // the attribute acc widens the output of integers
)

// has reports whether all flags in f are set.
func (r *opRow) has(f opFlags) bool { return r.flags&f == f }

// attrKind is a kind of attributes.
type attrKind uint8

const (
	kindNumber attrKind = iota // a scalar: known, or a variable
	kindWhole                  // kindNumber, an integer if the elements are
	kindFlag                   // true or false
	kindAxis                   // an integer
	kindAxes                   // a list of integers
	kindType                   // an element type
	kindRound                  // a rounding mode
)

// attrRule is an attribute of an operator.
type attrRule struct {
	name  string
	kind  attrKind
	needs bool // calls without it fail
}

var (
	accAttr  = attrRule{name: "acc", kind: kindType}
	maskAttr = attrRule{name: "div_by_zero_mask", kind: kindWhole}
	keepAttr = attrRule{name: "keepdims", kind: kindFlag}
	axesAttr = attrRule{name: "axes", kind: kindAxes, needs: true}

	accumulates = []attrRule{accAttr}
	divides     = []attrRule{maskAttr}
	reduces     = []attrRule{axesAttr, keepAttr}
	sums        = []attrRule{axesAttr, keepAttr, accAttr}
	finds       = []attrRule{{name: "axis", kind: kindAxis, needs: true}, keepAttr, {name: "select_first", kind: kindFlag}}
	shifts      = []attrRule{{name: "bits", kind: kindNumber, needs: true}}
)

// Element types that several operators share.
var (
	integers   = signed | unsigned
	anyInteger = integers | packedSigned | packedUnsigned
	boolean    = setOf(dtBool)
	everything = numbers | setOf(dtBool, dtBitset)
	negatives  = floats | signed | packedSigned
	quotients  = integers | setOf(dtI4, dtU4)
	shiftable  = quotients | setOf(dtI2, dtU2)
	logical    = anyInteger | boolean
)

// ops lists the operators by name.
var ops = []opRow{
	{word: "add", inputs: 2, types: everything, attrs: accumulates, flags: inPlace | accumulate, extents: broadcast, lowered: arithmetic("Add")},
	{word: "mul", inputs: 2, types: everything, attrs: accumulates, flags: inPlace | accumulate, extents: broadcast, lowered: arithmetic("Mul")},
	{word: "sub", inputs: 2, types: numbers, attrs: accumulates, flags: inPlace | accumulate, extents: broadcast, lowered: arithmetic("Sub")},
	{word: "matmul", inputs: 2, types: everything, attrs: accumulates, flags: inPlace | accumulate, extents: product, lowered: lowerMatMul},
	{word: "div", inputs: 2, types: floats | quotients, attrs: divides, flags: inPlace, extents: broadcast, lowered: lowerDiv},
	{word: "floor_div", inputs: 2, types: quotients, attrs: divides, flags: inPlace, extents: broadcast},
	{word: "rem", inputs: 2, types: quotients, flags: inPlace, extents: broadcast},
	{word: "abs", inputs: 1, types: negatives, attrs: accumulates, flags: inPlace | accumulate, extents: same, lowered: unary("Abs")},
	{word: "neg", inputs: 1, types: negatives, flags: inPlace, extents: same, lowered: unary("Neg")},
	{word: "sign", inputs: 1, types: negatives, flags: inPlace, result: dtI8, extents: same, lowered: lowerSign},
	{word: "recip", inputs: 1, types: floats, attrs: divides, flags: inPlace, extents: same, lowered: lowerRecip},
	{word: "fma", inputs: 3, types: floats, flags: inPlace, extents: same, lowered: lowerFMA},
	{word: "relu", inputs: 1, types: floats | signed | setOf(dtI4), flags: inPlace, extents: same, lowered: lowerRelu,
		attrs: []attrRule{{name: "alpha", kind: kindWhole}, {name: "clamp_max", kind: kindWhole}}},
	{word: "clamp", inputs: 1, types: numbers, flags: inPlace, extents: same, lowered: lowerClamp,
		attrs: []attrRule{{name: "min", kind: kindWhole}, {name: "max", kind: kindWhole}}},
	{word: "floor", inputs: 1, types: floats, flags: inPlace, extents: same, lowered: unary("Floor")},
	{word: "ceil", inputs: 1, types: floats, flags: inPlace, extents: same, lowered: unary("Ceil")},
	{word: "round", inputs: 1, types: floats, flags: inPlace, extents: same, lowered: lowerRound},
	{word: "trunc", inputs: 1, types: floats, flags: inPlace, extents: same, lowered: lowerTrunc},
	{word: "min", inputs: 2, types: numbers, flags: inPlace, extents: same, lowered: extreme("Min")},
	{word: "max", inputs: 2, types: numbers, flags: inPlace, extents: same, lowered: extreme("Max")},
	{word: "and", inputs: 2, types: logical, flags: inPlace, extents: same, lowered: bitwise("And")},
	{word: "or", inputs: 2, types: logical, flags: inPlace, extents: same, lowered: bitwise("Or")},
	{word: "xor", inputs: 2, types: logical, flags: inPlace, extents: same, lowered: bitwise("Xor")},
	{word: "not", inputs: 1, types: logical, flags: inPlace, extents: same, lowered: bitwise("Not")},
	{word: "shl", inputs: 1, types: shiftable, attrs: shifts, flags: inPlace, extents: same},
	{word: "shr", inputs: 1, types: shiftable, attrs: shifts, flags: inPlace, extents: same},
	{word: "popcount", inputs: 1, types: shiftable, result: dtU8, extents: same},
	{word: "eq", inputs: 2, types: numbers | boolean, result: dtBool, extents: same, lowered: comparison("Equal", false)},
	{word: "ne", inputs: 2, types: numbers | boolean, result: dtBool, extents: same, lowered: comparison("Equal", true)},
	{word: "lt", inputs: 2, types: numbers, result: dtBool, extents: same, lowered: comparison("Less", false)},
	{word: "le", inputs: 2, types: numbers, result: dtBool, extents: same, lowered: comparison("LessOrEqual", false)},
	{word: "gt", inputs: 2, types: numbers, result: dtBool, extents: same, lowered: comparison("Greater", false)},
	{word: "ge", inputs: 2, types: numbers, result: dtBool, extents: same, lowered: comparison("GreaterOrEqual", false)},
	{word: "filter", inputs: 3, types: numbers | boolean, extents: same, lowered: lowerFilter},
	{word: "is_finite", inputs: 1, types: floats, result: dtBool, extents: scalar, lowered: lowerIsFinite},
	{word: "is_nan", inputs: 1, types: floats, result: dtBool, extents: same, lowered: numberTest("IsNaN")},
	{word: "is_inf", inputs: 1, types: floats, result: dtBool, extents: same, lowered: numberTest("IsInf")},
	{word: "is_neg", inputs: 1, types: floats | integers | packedSigned, result: dtBool, extents: same, lowered: lowerIsNeg},
	{word: "fill", inputs: 1, types: everything, flags: inPlace, extents: same, lowered: lowerFill,
		attrs: []attrRule{{name: "value", kind: kindNumber, needs: true}}},
	{word: "sum_axis", inputs: 1, types: numbers, attrs: sums, flags: accumulate, extents: reduced, lowered: reduction("ReduceSum")},
	{word: "mean_axis", inputs: 1, types: numbers, attrs: sums, flags: accumulate, extents: reduced, lowered: reduction("ReduceMean")},
	{word: "prod_axis", inputs: 1, types: numbers, attrs: sums, flags: accumulate, extents: reduced, lowered: reduction("ReduceProd")},
	{word: "max_axis", inputs: 1, types: numbers, attrs: reduces, extents: reduced, lowered: reduction("ReduceMax")},
	{word: "min_axis", inputs: 1, types: numbers, attrs: reduces, extents: reduced, lowered: reduction("ReduceMin")},
	{word: "argmax_axis", inputs: 1, types: numbers, attrs: finds, result: dtI64, extents: reduced, lowered: lowerArg("ArgMax", "ReduceMax")},
	{word: "argmin_axis", inputs: 1, types: numbers, attrs: finds, result: dtI64, extents: reduced, lowered: lowerArg("ArgMin", "ReduceMin")},
	{word: "cast", inputs: 1, types: numbers, extents: same, lowered: lowerCast,
		attrs: []attrRule{{name: "to", kind: kindType, needs: true}, {name: "rounding_mode", kind: kindRound}, {name: "saturate", kind: kindFlag}}},
}

// lookupOp finds an operator by name.
func lookupOp(word string) (*opRow, bool) {
	for i := range ops {
		if ops[i].word == word {
			return &ops[i], true
		}
	}
	return nil, false
}

// accumulators returns the types to which acc may widen the output for elements of type d: wider
// integers of the same signedness, of 8 bits or more.
func (r *opRow) accumulators(d dtype) (list []dtype) {
	if !r.has(accumulate) || !d.isInt() {
		return nil
	}
	for _, to := range integers.list() {
		if to.isUnsigned() == d.isUnsigned() && to.bits() > d.bits() {
			list = append(list, to)
		}
	}
	return list
}
