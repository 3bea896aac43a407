package optimize_test

import (
	gocontext "context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/internal/byname"
	"github.com/nacre-ml/nacre/runtime"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/internal/optimize"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/op/standard"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// checkLastRows compares the last rows of outputs in whole, the results of the net, with the
// results of a program for last rows. It returns the model of that program.
func (b *net) checkLastRows(t *testing.T, passes bool, outputs []string, whole []*tensor.Tensor) *graph.Model {
	t.Helper()
	m := b.model()
	if passes {
		m = b.optimized(t)
	}
	m, err := optimize.LastRows(m, outputs, contextOf(standard.Registry()))
	if err != nil {
		t.Error(err)
		return nil
	}
	s, err := byname.New(m, runtime.Options{NoOptimize: true, Threads: 1})
	if err != nil {
		t.Error(err)
		return nil
	}
	defer s.Close()
	got, err := s.Run(gocontext.Background(), b.feeds)
	if err != nil {
		t.Error(err)
		return nil
	}
	for i, v := range b.g.Outputs {
		want := whole[i]
		if slices.Contains(outputs, v.Name) {
			want = lastRow(want)
		}
		if err := cases.Near(want, got[v.Name], 20*tolerances[b.dtype], true); err != nil {
			t.Errorf("last rows of %v, output %q: %v", outputs, v.Name, err)
		}
	}
	return m
}

// lastRow copies the last row of each matrix.
func lastRow(x *tensor.Tensor) *tensor.Tensor {
	shape := slices.Clone(x.Shape())
	rows, columns := shape[len(shape)-2], shape[len(shape)-1]
	shape[len(shape)-2] = min(rows, 1)
	y := tensor.New(x.DType(), shape...)
	row := x.DType().Bytes(columns)
	for i := range y.Len() / max(columns, 1) {
		copy(y.Bytes()[i*row:(i+1)*row], x.Bytes()[((i+1)*rows-1)*row:])
	}
	return y
}

// rowCases are nodes that compute y row by row. plainCase makes cases of operators without
// attributes.
var rowCases = []string{
	"y = MatMul(x, w)", "y = nacre.MatMulBias-1(x, w, v, z)", "y = nacre.MatMulBias-1(x, w, v)", "y = Gemm(flat, w, v)", "y = Gemm(flat, w, flat)",
	"y = com.microsoft.FusedGemm-1(flat, w, v)", "y = com.microsoft.FusedMatMul-1(x, w) transB=1", "y = com.microsoft.MatMulNBits-1(x, codes, scales) K=8 N=8 bits=4 block_size=16",
	"y = LayerNormalization-17(x, v, v) axis=-1", "y = RMSNormalization-23(x, v)", "y = SimplifiedLayerNormalization-1(x, v)",
	"y = com.microsoft.SimplifiedLayerNormalization-1(x, v)", "y, _, _, s = com.microsoft.SkipLayerNormalization-1(x, z, v, v)",
	"y, _, _, s = com.microsoft.SkipSimplifiedLayerNormalization-1(x, z, v)", "y = Softmax-13(x)", "y = LogSoftmax-13(x) axis=2", "y, h = Split(x) axis=2 num_outputs=2",
	"y = Concat(x, z) axis=-1", "y = Abs(x)", "y = Add(x, z)", "y = Add(x, flat)", "y = Add(v, x)", "y = Cast(x) to=11", "y = Celu(x)", "y = Clip(x, one)",
	"y = Div(x, z)", "y = Elu(x)", "y = Erf(x)", "y = Exp(x)", "y = Gelu-20(x)", "y = HardSigmoid(x)", "y = HardSwish(x)", "y = Identity(x)",
	"y = LeakyRelu(x)", "y = Log(x)", "y = Max(x, z, v)", "y = Min(x, z, single)", "y = Mish(x)", "y = Mul(x, z)", "y = Neg(x)", "y = PRelu(x, v)", "y = Pow(x, one)",
	"y = Reciprocal(x)", "y = Relu(x)", "y = Selu(x)", "y = Sigmoid(x)", "y = Softplus(x)", "y = Softsign(x)", "y = Sqrt(x)", "y = Sub(x, z)",
	"y = SwiGLU-28(x, z)", "y = Swish-24(x)", "y = Tanh(x)", "y = ThresholdedRelu(x)", "y = Where(positive, x, z)", "y = com.microsoft.BiasGelu-1(x, v)",
	"y = com.microsoft.FastGelu-1(x, v)", "y = com.microsoft.Gelu-1(x)", "y = com.microsoft.QuickGelu-1(x)",
	"y = nacre.WidenedGemm-1(flat, half, v)", "y = BitShift-11(bits, bits) direction=\"LEFT\"", "y = BitCast-26(x) to=6", "y = Mod-13(x, z) fmod=1",
}

const rowOperands = `
in x float32[batch,tokens,8]
in z float32[batch,tokens,8]
in flat float32[tokens,8]
in positive bool[batch,tokens,8]
in bits uint8[batch,tokens,8]
const w float32[8,8] 1 -2 3 0.5 0.25 -1 2
const v float32[8] 1 -2 3
const half float16[8,8] 1 -2 3 0.5 0.25 -1 2
const one float32[] 1
const single float32[1,1,8] 0.1
const codes uint8[8,1,8] 17 250 3 99 128
const scales float32[8] 0.5 1
`

// rowFeeds returns inputs with the given number of rows.
func rowFeeds(rows int) map[string]*tensor.Tensor {
	b := newNet(tensor.F32, true)
	b.symbols["tokens"] = rows
	b.in("x", "batch", "tokens", 8)
	b.in("z", "batch", "tokens", 8)
	b.in("flat", "tokens", 8)
	positive := tensor.New(tensor.Bool, 2, rows, 8)
	for i := range positive.Bytes() {
		positive.Bytes()[i] = byte(i % 3 % 2)
	}
	b.feeds["positive"] = positive
	bits := tensor.New(tensor.U8, 2, rows, 8)
	for i := range bits.Bytes() {
		bits.Bytes()[i] = byte(i % 6)
	}
	b.feeds["bits"] = bits
	return b.feeds
}

// lastRowsOf runs a graph whole and for the last rows of outputs, and compares the results. It
// returns the graph for last rows.
func lastRowsOf(t *testing.T, source string, rows int, outputs ...string) *graph.Graph {
	t.Helper()
	b := newNet(tensor.F32, true)
	b.g = parseGraph(t, source)
	for _, v := range b.g.Inputs {
		b.feeds[v.Name] = rowFeeds(rows)[v.Name]
	}
	whole, err := b.results(false)
	if err != nil {
		t.Fatal(err)
	}
	if m := b.checkLastRows(t, false, outputs, whole); m != nil {
		return m.Graph
	}
	t.FailNow()
	return nil
}

// cutsOf returns the values of which a graph takes last rows, and the operators that read these
// rows.
func cutsOf(g *graph.Graph) (values []string, behind []string) {
	cut := map[string]bool{}
	for _, n := range g.Nodes {
		if n.Op == "Slice" && n.Outputs[0] != "y" {
			values = append(values, n.Inputs[0])
			cut[n.Outputs[0]] = true
		} else if slices.ContainsFunc(n.Inputs, func(name string) bool { return cut[name] }) {
			name, _ := strings.CutPrefix(n.Domain+"."+n.Op, ".")
			behind = append(behind, name)
		}
	}
	slices.Sort(values)
	return values, behind
}

func TestLastRowsOfOperators(t *testing.T) {
	lines := slices.Clone(rowCases)
	for _, row := range standard.Registry().Rows() {
		name, _ := strings.CutPrefix(row.Domain+"."+row.Name, ".")
		has := func(line string) bool {
			return regexp.MustCompile(`= ` + regexp.QuoteMeta(name) + `[-(]`).MatchString(line)
		}
		if (row.Elementwise || row.Rowwise != nil) && !slices.ContainsFunc(lines, has) {
			lines = append(lines, plainCase(row))
		}
	}
	for _, line := range lines {
		t.Run(line, func(t *testing.T) {
			for _, rows := range []int{3, 1} {
				_, behind := cutsOf(lastRowsOf(t, rowOperands+line+"\nout y", rows, "y"))
				if len(behind) != 1 {
					t.Fatalf("the last row of %s is not computed from last rows of its operands", line)
				}
			}
		})
	}
}

// plainCase returns a case of an operator that has none in rowCases.
func plainCase(row *op.Row) string {
	inputs := []string{"x", "z", "x"}
	switch d := row.Types; {
	case d.Has(tensor.F32):
	case d.Has(tensor.Bool):
		inputs = []string{"positive", "positive"}
	default:
		inputs = []string{"bits", "bits"}
	}
	since := row.Since[len(row.Since)-1]
	name, _ := strings.CutPrefix(row.Domain+"."+row.Name, ".")
	return fmt.Sprintf("y = %s-%d(%s)", name, since, strings.Join(inputs[:row.Arity(since).In[0]], ", "))
}

const rowShapes = `const parts int64[2] 1
const yes bool[] 1
const w4 float32[8,4] 1 -1 2
const eight int64[1] 8
const flatten int64[2] -1 8
const sequences int64[3] 2 -1 8
const pairs int64[3] -1 2 8
`

func TestLastRows(t *testing.T) {
	for _, c := range []struct {
		name, lines string
		outputs     []string
		cut         []string // values of which last rows are taken early
	}{
		{"a head", "a = Relu(x)\nb = Softmax-13(a) axis=1\nc = MatMul(b, w)\ny = Add(c, v)\nout y", []string{"y"}, []string{"b"}},
		{"a value with two readers", "a = Relu(x)\nb = MatMul(a, w)\nc = Tanh(a)\ny = Add(b, c)\nout y", []string{"y"}, []string{"x"}},
		{"a value that is needed whole", "a = Relu(x)\nb = ReduceSum(a)\nc = MatMul(a, w)\ny = Add(b, c)\nout y", []string{"y"}, []string{"a"}},
		{"an output on the way", "a = Relu(x)\ny = MatMul(a, w)\nout y a", []string{"y"}, []string{"a"}},
		{"two outputs", "a = Relu(x)\ny = MatMul(a, w)\nu = Exp(a)\nout y u", []string{"u", "y"}, []string{"x"}},
		{"an output that others read", "y = Relu(x)\nu = Exp(y)\nout y u", []string{"y"}, nil},
		{"an output computed across rows", "y = Transpose(x) perm=[0,2,1]\nout y", []string{"y"}, nil},
		{"rows as columns of a product", "a = Exp(x)\nb = Transpose(a) perm=[0,2,1]\ny = MatMul(z, b)\nout y", []string{"y"}, []string{"z"}},
		{"one value on both sides", "a = Exp(w)\ny = MatMul(a, a)\nout y", []string{"y"}, []string{"a"}},
		{"a scale of rows", "y = LayerNormalization-17(x, x, v) axis=-1\nout y", []string{"y"}, nil},
		{"a shift of rows", "a = Exp(x)\ny = LayerNormalization-17(a, v, flat) axis=-1\nout y", []string{"y"}, nil},
		{"a scale of rows without a shift", "y = RMSNormalization-23(x, flat)\nout y", []string{"y"}, nil},
		{"a factor along the first axes", "y = Mul-6(x, one) broadcast=1\nout y", []string{"y"}, nil},
		{"softmax over rows", "y = Softmax-13(x) axis=1\nout y", []string{"y"}, nil},
		{"softmax of an old version", "y = Softmax-12(x) axis=2\nout y", []string{"y"}, nil},
		{"a transposed operand", "y = Gemm(flat, flat) transA=1\nout y", []string{"y"}, nil},
		{"split of rows", "a, b = Split(x, parts) axis=0\ny = Relu(b)\nout y", []string{"y"}, []string{"b"}},
		{"rows of sequences", "f = Reshape(x, flatten)\na = Relu(f)\nb = Gemm(a, w, v)\nc = Add(b, f)\ny = Reshape(c, sequences)\nout y", []string{"y"}, []string{"f_5", "sequences"}},
		{"rows of sequences with unlike columns", "f = Reshape(x, flatten)\na = Gemm(f, w4)\nb = Gemm(a, w4) transB=1\nc = Reshape(b, sequences)\ny = Tanh(c)\nout y", []string{"y"}, []string{"f_5", "sequences"}},
		{"rows of sequences behind an extent that is computed", "s = Shape-15(x) end=2\nshape = Concat(s, eight) axis=0\nf = Reshape(x, flatten)\na = Gemm(f, w)\ny = Reshape(a, shape)\nout y", []string{"y"}, []string{"f_5", "shape"}},
		{"sequences of two rows", "f = Reshape(x, flatten)\na = Gemm(f, w)\nb = Reshape(a, pairs)\ny = Relu(b)\nout y", []string{"y"}, []string{"f_5", "pairs"}},
		{"rows of sequences that are needed whole", "f = Reshape(x, flatten)\na = Gemm(f, w)\ny = Reshape(a, sequences)\nu = ReduceSum(a)\nout y u", []string{"y"}, nil},
		{"unlike rows of one value", "f = Reshape(x, flatten)\na = Gemm(f, w)\ny = Reshape(a, sequences)\nb = Gemm(f, w, v)\nu = Reshape(b, pairs)\nt = Gemm(f, w)\nout y u t", []string{"y", "u", "t"}, []string{"f", "f_10", "f_5", "pairs", "sequences"}},
		{"a body", "a = Relu(x)\nc = If(yes) then_branch={\nb = Exp(a)\nout b\n} else_branch={\nb = Neg(a)\nout b\n}\ny = MatMul(a, w)\nout y c", []string{"y"}, []string{"a"}},
		{"a body reads the output", "y = Relu(x)\nc = If(yes) then_branch={\nb = Exp(y)\nout b\n} else_branch={\nb = Neg(y)\nout b\n}\nout y c", []string{"y"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			source := rowOperands + rowShapes + c.lines
			for _, rows := range []int{3, 1} {
				cut, _ := cutsOf(lastRowsOf(t, source, rows, c.outputs...))
				if !slices.Equal(cut, c.cut) {
					t.Errorf("rows are cut off %v, want %v", cut, c.cut)
				}
			}
		})
	}
}

// TestLastRowsOfConstant takes the last row of an output that is a constant.
func TestLastRowsOfConstant(t *testing.T) {
	lastRowsOf(t, rowOperands+"y = MatMul(x, w)\nout y w", 3, "w", "y")
}

func TestLastRowsRefused(t *testing.T) {
	m := &graph.Model{File: "f", Graph: parseGraph(t, "in x float32[n,3]\ny = Exp(x)\nout x y")}
	for _, name := range []string{"x", "other"} {
		if _, err := optimize.LastRows(m, []string{name},
			contextOf(standard.Registry())); !errors.Is(err, graph.ErrUnsupported) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
