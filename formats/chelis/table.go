package chelis

import (
	"slices"
	"strings"
)

// translation returns an expression for each output of a node.
type translation func(n *node) []string

// translations has a row for each operator that can be emitted, by domain and name.
var translations = map[string]translation{
	".Relu": one(relu), ".Sigmoid": unary("sigmoid"), ".Tanh": unary("tanh"), ".Sqrt": unary("sqrt"), ".Exp": unary("exp"),
	".Log": unary("log"), ".Sin": unary("sin"), ".Cos": unary("cos"), ".Tan": unary("tan"), ".Floor": unary("floor"), ".Ceil": unary("ceil"),
	".Not": unary("not"), ".Reciprocal": unary("recip"), ".Abs": one(abs), ".Neg": one(neg), ".Sign": one(sign), ".Clip": one(clip),
	".LeakyRelu": one(leakyRelu), ".Elu": one(elu), ".Selu": one(selu), ".HardSigmoid": one(hardSigmoidNode), ".HardSwish": one(hardSwish),
	".Mish": one(mish), ".Softplus": one(softplusNode), ".Gelu": one(gelu),
	".Add": binary("add"), ".Sub": binary("sub"), ".Mul": binary("mul"), ".Div": one(div), ".Pow": one(pow),
	".And": binary("and"), ".Or": binary("or"), ".Xor": one(xor),
	".Equal": binary("eq"), ".Greater": binary("gt"), ".GreaterOrEqual": binary("gte"), ".Less": binary("cmplt"), ".LessOrEqual": binary("lte"),
	".Min": one(extreme("min_elem")), ".Max": one(extreme("max_elem")), ".Where": one(where),
	".Identity": one(identity), ".Reshape": one(reshaped), ".Flatten": one(reshaped), ".Squeeze": one(reshaped), ".Unsqueeze": one(reshaped),
	".Transpose": one(transpose), ".Concat": one(concat), ".Split": split, ".Slice": one(slice), ".Gather": one(gather), ".Expand": one(expand),
	".Shape": one(shapeOf), ".Constant": one(constant), ".ConstantOfShape": one(constantOfShape), ".Cast": one(cast),
	".ReduceSum": one(reduction("sum")), ".ReduceMean": one(reduction("mean")), ".ReduceMax": one(reduction("max_reduce")),
	".ReduceMin": one(reduction("min_reduce")), ".ReduceProd": one(reduction("prod_reduce")), ".ReduceL1": one(reduction("sum")),
	".ReduceL2": one(reduction("sum")), ".ArgMax": one(argReduction("argmax_reduce")), ".ArgMin": one(argReduction("argmin_reduce")),
	".Softmax": one(softmax), ".LogSoftmax": one(logSoftmax), ".MatMul": one(matmul), ".Gemm": one(gemm),
	".BatchNormalization": one(batchNorm), ".LayerNormalization": one(layerNorm), ".InstanceNormalization": one(instanceNorm), ".GroupNormalization": one(groupNorm),
	".Conv": one(conv), ".ConvTranspose": one(convTranspose), ".RotaryEmbedding": one(rotaryEmbedding), ".Attention": one(attention), ".MaxPool": one(maxPool), ".AveragePool": one(averagePool),
	".GlobalAveragePool": one(globalPool("mean")), ".GlobalMaxPool": one(globalPool("max_reduce")),
}

// Operators returns the names of the ONNX operators that can be emitted, sorted.
func Operators() []string {
	list := make([]string, 0, len(translations))
	for name := range translations {
		list = append(list, strings.TrimPrefix(name, "."))
	}
	slices.Sort(list)
	return list
}

// one makes a translation from a function that returns output 0.
func one(f func(n *node) string) translation {
	return func(n *node) []string { return []string{f(n)} }
}

// unary translates to a Chelis operation on one tensor.
func unary(name string) translation {
	return one(func(n *node) string { return call(name, n.args[0]) })
}

// binary translates to a Chelis operation on two tensors of the same extents.
func binary(name string) translation {
	return one(func(n *node) string { return call(name, n.arg(0), n.arg(1)) })
}
