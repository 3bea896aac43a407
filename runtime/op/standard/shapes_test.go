package standard_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/op/standard"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

func sym(list ...any) graph.Dims {
	d := make(graph.Dims, len(list))
	for i, v := range list {
		switch v := v.(type) {
		case int:
			d[i] = graph.Known(v)
		case string:
			d[i] = graph.Symbol(v)
		case graph.Dim:
			d[i] = v
		}
	}
	return d
}

// of returns a value of the given type and extents.
func of(d tensor.DType, dims graph.Dims) *op.Value { return &op.Value{Type: graph.TensorOf(d, dims)} }

// vec returns a vector of int64 with the given elements.
func vec(list ...any) *op.Value {
	return &op.Value{Type: graph.TensorOf(tensor.I64, sym(len(list))), Ints: sym(list...)}
}

func scalar(v any) *op.Value {
	return &op.Value{Type: graph.TensorOf(tensor.I64, graph.Dims{}), Ints: sym(v)}
}

func attrs(list ...any) []*graph.Attr {
	var out []*graph.Attr
	for i := 0; i < len(list); i += 2 {
		a := &graph.Attr{Name: list[i].(string)}
		switch v := list[i+1].(type) {
		case int:
			a.Kind, a.Int = graph.AttrInt, int64(v)
		case string:
			a.Kind, a.Str = graph.AttrString, []byte(v)
		case []int64:
			a.Kind, a.Ints = graph.AttrInts, v
		case *tensor.Tensor:
			a.Kind, a.Tensor = graph.AttrTensor, v
		}
		out = append(out, a)
	}
	return out
}

// TestSymbolicShapes infers from symbolic extents: the extents of every output, and the elements of
// integer vectors.
func TestSymbolicShapes(t *testing.T) {
	x := of(tensor.F32, sym("batch", "seq", 768))
	one, err := tensor.From([]int64{7}, 1)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name    string
		op      string
		version int
		attrs   []*graph.Attr
		in      []*op.Value
		outs    int
		want    string // type of every output, then = and the elements
	}{
		{"shape", "Shape", 13, nil, []*op.Value{x}, 1, "int64[3]=[batch,seq,768]"},
		{"shape part", "Shape", 15, attrs("start", -2, "end", 2), []*op.Value{x}, 1, "int64[1]=[seq]"},
		{"shape no axes", "Shape", 15, attrs("start", 2, "end", 1), []*op.Value{x}, 1, "int64[0]=[]"},
		{"shape of unknown rank", "Shape", 13, nil, []*op.Value{of(tensor.F32, nil)}, 1, "int64[?]"},
		{"size", "Size", 13, nil, []*op.Value{of(tensor.F32, sym("n", 3))}, 1, "int64[]=[3*n]"},
		{"gather scalar", "Gather", 13, nil, []*op.Value{vec("batch", "seq"), scalar(-1)}, 1, "int64[]=[seq]"},
		{"gather vector", "Gather", 13, nil, []*op.Value{vec("batch", "seq"), vec(1, 0, 1)}, 1, "int64[3]=[seq,batch,seq]"},
		{"gather rows", "Gather", 13, attrs("axis", 1), []*op.Value{x, of(tensor.I64, sym("a", "b"))}, 1, "float32[batch,a,b,768]"},
		{"unsqueeze", "Unsqueeze", 13, nil, []*op.Value{scalar("seq"), vec(0)}, 1, "int64[1]=[seq]"},
		{"squeeze", "Squeeze", 13, nil, []*op.Value{vec("seq"), vec(0)}, 1, "int64[]=[seq]"},
		{"squeeze all of unknown", "Squeeze", 13, nil, []*op.Value{x}, 1, "float32[...]"},
		{"concat", "Concat", 13, attrs("axis", 0), []*op.Value{vec("batch"), vec(-1, 12), vec("seq")}, 1, "int64[4]=[batch,-1,12,seq]"},
		{"concat extents", "Concat", 13, attrs("axis", 1), []*op.Value{x, of(tensor.F32, sym("?", 4, 768))}, 1, "float32[batch,seq+4,768]"},
		{"slice", "Slice", 13, nil, []*op.Value{vec("batch", "seq", 768), vec(1), vec(math.MaxInt), vec(0)}, 1, "int64[2]=[seq,768]"},
		{"slice extent", "Slice", 13, nil, []*op.Value{x, vec(0, 1, -2), vec("batch", -1, math.MaxInt), vec(0, 1, 2)}, 1, "float32[batch,seq-2,2]"},
		{"slice backwards", "Slice", 13, nil, []*op.Value{x, vec(-1), vec(math.MinInt), vec(1), vec(-1)}, 1, "float32[batch,seq,768]"},
		{
			"slice from far before", "Slice", 13, nil,
			[]*op.Value{x, vec(math.MinInt, -4), vec(math.MaxInt, math.MaxInt), vec(0, 1)}, 1,
			"float32[batch,min(seq,4),768]",
		},
		{"slice unknown", "Slice", 13, nil, []*op.Value{x, vec(graph.Unknown()), vec(5), vec(1)}, 1, "float32[batch,?,768]"},
		{"slice of a sum", "Slice", 13, nil, []*op.Value{of(tensor.F32, sym(graph.ParseDim("seq+past"))), vec("past"), vec(graph.ParseDim("past+seq")), vec(0)}, 1, "float32[seq]"},
		{"slice to a lesser sum", "Slice", 13, nil, []*op.Value{of(tensor.F32, sym(graph.ParseDim("m+n+k"))), vec(0), vec(graph.ParseDim("k+m")), vec(0)}, 1, "float32[k+m]"},
		{"slice to a symbol", "Slice", 13, nil, []*op.Value{of(tensor.F32, sym("n")), vec("m"), vec("k"), vec(0)}, 1, "float32[?]"},
		{"slice unknown axes", "Slice", 13, nil, []*op.Value{x, vec(0), vec(5), of(tensor.I64, sym(1))}, 1, "float32[?,?,?]"},
		{"identity", "Identity", 13, nil, []*op.Value{vec("batch")}, 1, "int64[1]=[batch]"},
		{"range", "Range", 11, nil, []*op.Value{scalar(0), scalar("seq"), scalar(1)}, 1, "int64[seq]"},
		{"constant of shape", "ConstantOfShape", 9, attrs("value", one), []*op.Value{vec(2)}, 1, "int64[2]=[7,7]"},
		{"constant of symbols", "ConstantOfShape", 9, nil, []*op.Value{vec("batch", 2)}, 1, "float32[batch,2]"},
		{"reshape 0 and -1", "Reshape", 14, nil, []*op.Value{x, vec(0, -1, 12, 64)}, 1, "float32[batch,seq,12,64]"},
		{"reshape to symbols", "Reshape", 14, nil, []*op.Value{x, vec("batch", "seq", 12, 64)}, 1, "float32[batch,seq,12,64]"},
		{"reshape cancels", "Reshape", 14, nil, []*op.Value{x, vec("batch", "seq", -1)}, 1, "float32[batch,seq,768]"},
		{"reshape divides", "Reshape", 14, nil, []*op.Value{of(tensor.F32, sym("n", 3)), vec(-1, 6)}, 1, "float32[n/2,6]"},
		{"reshape cancels a product", "Reshape", 14, nil, []*op.Value{of(tensor.F32, sym(graph.ParseDim("n*m"), 6)), vec("m", 4, -1)}, 1, "float32[m,4,n+n/2]"},
		{"reshape unknown shape", "Reshape", 14, nil, []*op.Value{x, of(tensor.I64, sym(2))}, 1, "float32[?,?]"},
		{"reshape unknown rank", "Reshape", 14, nil, []*op.Value{of(tensor.F32, nil), vec(0, 3)}, 1, "float32[?,3]"},
		{"reshape ints", "Reshape", 14, nil, []*op.Value{scalar("seq"), vec(-1)}, 1, "int64[1]=[seq]"},
		{"reshape attribute", "Reshape", 1, attrs("shape", []int64{-1, 768}), []*op.Value{x}, 1, "float32[batch*seq,768]"},
		{"flatten", "Flatten", 13, attrs("axis", 2), []*op.Value{x}, 1, "float32[batch*seq,768]"},
		{"expand", "Expand", 13, nil, []*op.Value{of(tensor.F32, sym(1, "seq")), vec("batch", 1, 1)}, 1, "float32[batch,1,seq]"},
		{"expand ints", "Expand", 13, nil, []*op.Value{vec("batch"), vec(3)}, 1, "int64[3]=[batch,batch,batch]"},
		{"tile", "Tile", 13, nil, []*op.Value{x, vec(1, 2, "r")}, 1, "float32[batch,2*seq,768*r]"},
		{"pad", "Pad", 13, nil, []*op.Value{x, vec(0, 1, 0, 0, 2, -8)}, 1, "float32[batch,seq+3,760]"},
		{"pad unknown", "Pad", 13, nil, []*op.Value{x, of(tensor.I64, sym(6))}, 1, "float32[?,?,?]"},
		{"transpose", "Transpose", 13, attrs("perm", []int64{0, 2, 1}), []*op.Value{x}, 1, "float32[batch,768,seq]"},
		{"split", "Split", 13, attrs("axis", 2), []*op.Value{x}, 3, "float32[batch,seq,256] float32[batch,seq,256] float32[batch,seq,256]"},
		{"split symbol", "Split", 13, attrs("axis", 1), []*op.Value{x}, 2, "float32[batch,seq/2,768] float32[batch,seq/2,768]"},
		{"split ints", "Split", 13, nil, []*op.Value{vec("a", "b", "c"), vec(1, 2)}, 2, "int64[1]=[a] int64[2]=[b,c]"},
		{"depth to space", "DepthToSpace", 13, attrs("blocksize", 2), []*op.Value{of(tensor.F32, sym("n", 8, "h", "w"))}, 1, "float32[n,2,2*h,2*w]"},
		{"one hot", "OneHot", 11, nil, []*op.Value{of(tensor.I64, sym("n")), of(tensor.I64, sym()), of(tensor.F32, sym(2))}, 1, "float32[n,?]"},
		{"top k", "TopK", 11, attrs("axis", 1), []*op.Value{x, vec("k")}, 2, "float32[batch,k,768] int64[batch,k,768]"},
		{"unique", "Unique", 11, attrs("axis", 0), []*op.Value{x}, 4, "float32[?,seq,768] int64[?] int64[batch] int64[?]"},
		{"suppression", "NonMaxSuppression", 11, nil, []*op.Value{of(tensor.F32, sym("b", "n", 4)), of(tensor.F32, sym("b", "c", "n"))}, 1, "int64[?,3]"},
		{"regions", "RoiAlign", 16, attrs("output_height", 7), []*op.Value{of(tensor.F32, sym("b", "c", "h", "w")), of(tensor.F32, sym("r", 4)), of(tensor.I64, sym("r"))}, 1, "float32[r,c,7,1]"},
		{"grid sample", "GridSample", 20, nil, []*op.Value{of(tensor.F32, sym("b", 3, "h", "w")), of(tensor.F32, sym("b", "p", "q", 2))}, 1, "float32[b,3,p,q]"},
		{"affine grid", "AffineGrid", 20, nil, []*op.Value{of(tensor.F32, sym("b", 2, 3)), vec("b", 3, "h", "w")}, 1, "float32[b,h,w,2]"},
		{"centre crop", "CenterCropPad", 18, attrs("axes", []int64{-1}), []*op.Value{x, vec("d")}, 1, "float32[batch,seq,d]"},
		{"one-sided transform", "DFT", 20, attrs("onesided", 1), []*op.Value{of(tensor.F32, sym("b", "n", 1))}, 1, "float32[b,n/2+1,2]"},
		{"frames", "STFT", 17, nil, []*op.Value{of(tensor.F32, sym("b", "n", 1)), scalar(160), of(tensor.F32, sym(400))}, 1, "float32[b,(n+80)/160-2,201,2]"},
		{"window", "HannWindow", 17, nil, []*op.Value{scalar("n")}, 1, "float32[n]"},
		{"determinant", "Det", 22, nil, []*op.Value{of(tensor.F32, sym("b", "n", "n"))}, 1, "float32[b]"},
		{"einsum", "Einsum", 12, attrs("equation", "b...d,kd->b...k"), []*op.Value{x, of(tensor.F32, sym("k", 768))}, 1, "float32[batch,seq,k]"},
		{"loss", "SoftmaxCrossEntropyLoss", 13, nil, []*op.Value{of(tensor.F32, sym("b", 10)), of(tensor.I64, sym("b"))}, 2, "float32[] float32[b,10]"},
		{"loss of each", "NegativeLogLikelihoodLoss", 13, attrs("reduction", "none"), []*op.Value{of(tensor.F32, sym("b", 10, "n")), of(tensor.I64, nil)}, 1, "float32[b,n]"},
		{"multinomial", "Multinomial", 7, attrs("sample_size", 5), []*op.Value{of(tensor.F32, sym("b", 10))}, 1, "int32[b,5]"},
		{"non zero", "NonZero", 13, nil, []*op.Value{x}, 1, "int64[3,?]"},
	}
	r := standard.Registry()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := &graph.Node{Op: tt.op, Version: tt.version, Attrs: tt.attrs, Inputs: make([]string, len(tt.in)),
				Outputs: make([]string, tt.outs)}
			for i := range n.Inputs {
				n.Inputs[i] = fmt.Sprint("in", i)
			}
			for i := range n.Outputs {
				n.Outputs[i] = fmt.Sprint("out", i)
			}
			o, _, err := r.New(n)
			if err != nil {
				t.Fatal(err)
			}
			out, err := kit.InferOutputs(o, n, tt.in)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for i, v := range out {
				if i > 0 {
					got += " "
				}
				got += v.Type.String()
				if v.Ints != nil {
					got += "=" + graph.Dims(v.Ints).String()
				}
			}
			if got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// TestHostileShapes passes numbers that no honest model holds. Each must be refused.
func TestHostileShapes(t *testing.T) {
	const big = math.MaxInt64
	x := of(tensor.F32, sym(2, 3))
	tests := []struct {
		name    string
		op      string
		version int
		attrs   []*graph.Attr
		in      []*op.Value
	}{
		{"reshape product", "Reshape", 14, nil, []*op.Value{x, vec(big, 3, -1)}},
		{"reshape negative", "Reshape", 14, nil, []*op.Value{x, vec(-2, -3)}},
		{"reshape two -1", "Reshape", 14, nil, []*op.Value{x, vec(-1, -1)}},
		{"reshape zero", "Reshape", 14, nil, []*op.Value{x, vec(2, 3, 0)}},
		{"reshape count", "Reshape", 14, nil, []*op.Value{x, vec(5)}},
		{"reshape to floats", "Reshape", 14, nil, []*op.Value{x, of(tensor.F32, sym(2))}},
		{"squeeze floats", "Squeeze", 13, nil, []*op.Value{x, of(tensor.F32, sym(2))}},
		{"reshape rank", "Reshape", 14, nil, []*op.Value{x, of(tensor.I64, sym(big))}},
		{"tile product", "Tile", 13, nil, []*op.Value{x, vec(big, big)}},
		{"tile negative", "Tile", 13, nil, []*op.Value{x, vec(1, -1)}},
		{"expand huge", "Expand", 13, nil, []*op.Value{of(tensor.F32, sym(1, 1)), vec(big, big)}},
		{"expand negative", "Expand", 13, nil, []*op.Value{x, vec(-1, 3)}},
		{"constant of shape negative", "ConstantOfShape", 9, nil, []*op.Value{vec(-1)}},
		{"pad huge", "Pad", 13, nil, []*op.Value{x, vec(big, 0, big, 0)}},
		{"pad removes all", "Pad", 13, nil, []*op.Value{x, vec(0, -2, 0, -2)}},
		{"pad count", "Pad", 13, nil, []*op.Value{x, vec(0, 1, 2)}},
		{"pad axes", "Pad", 18, nil, []*op.Value{x, vec(0, 1), nil, vec(5)}},
		{"pad nothing to reflect", "Pad", 13, attrs("mode", "reflect"), []*op.Value{of(tensor.F32, sym(0)), vec(1, 1)}},
		{"split sum", "Split", 13, nil, []*op.Value{x, vec(big, big)}},
		{"split negative", "Split", 13, nil, []*op.Value{x, vec(-1, 3)}},
		{"slice step", "Slice", 13, nil, []*op.Value{x, vec(0), vec(1), vec(0), vec(0)}},
		{"slice axis", "Slice", 13, nil, []*op.Value{x, vec(0), vec(1), vec(2)}},
		{"slice axis twice", "Slice", 13, nil, []*op.Value{x, vec(0, 0), vec(1, 1), vec(0, -2)}},
		{"transpose axis", "Transpose", 13, attrs("perm", []int64{0, 2}), []*op.Value{x}},
		{"transpose twice", "Transpose", 13, attrs("perm", []int64{0, 0}), []*op.Value{x}},
		{"concat ranks", "Concat", 13, attrs("axis", 0), []*op.Value{x, of(tensor.F32, sym(2))}},
		{"concat extents", "Concat", 13, attrs("axis", 0), []*op.Value{x, of(tensor.F32, sym(2, 4))}},
		{"concat types", "Concat", 13, attrs("axis", 0), []*op.Value{x, of(tensor.F64, sym(2, 3))}},
		{"gather index", "Gather", 13, nil, []*op.Value{vec(1, 2), vec(2)}},
		{"gather float index", "Gather", 13, nil, []*op.Value{x, of(tensor.F32, sym(2))}},
		{"gathernd tuple", "GatherND", 13, nil, []*op.Value{x, of(tensor.I64, sym(4, 3))}},
		{"gathernd batch", "GatherND", 13, attrs("batch_dims", -1), []*op.Value{x, of(tensor.I64, sym(4, 1))}},
		{"scatter updates", "ScatterElements", 18, nil, []*op.Value{x, of(tensor.I64, sym(1, 3)), of(tensor.F32, sym(1, 2))}},
		{"scatternd updates", "ScatterND", 18, nil, []*op.Value{x, of(tensor.I64, sym(1, 1)), of(tensor.F32, sym(1, 2))}},
		{"depth to space channels", "DepthToSpace", 13, attrs("blocksize", 2), []*op.Value{of(tensor.F32, sym(1, 3, 2, 2))}},
		{"space to depth pixels", "SpaceToDepth", 13, attrs("blocksize", 2), []*op.Value{of(tensor.F32, sym(1, 3, 2, 3))}},
		{"unsqueeze twice", "Unsqueeze", 13, nil, []*op.Value{x, vec(0, 0)}},
		{"squeeze extent", "Squeeze", 13, nil, []*op.Value{x, vec(0)}},
		{"flatten axis", "Flatten", 13, attrs("axis", 3), []*op.Value{x}},
		{"top k negative", "TopK", 11, nil, []*op.Value{x, vec(-1)}},
		{"top k too many", "TopK", 11, nil, []*op.Value{x, vec(4)}},
		{"transform of nothing", "DFT", 20, nil, []*op.Value{of(tensor.F32, sym(1, 3, 1)), scalar(0)}},
		{"transform huge", "DFT", 20, nil, []*op.Value{of(tensor.F32, sym(1, 3, 1)), scalar(big)}},
		{"transform axis", "DFT", 20, nil, []*op.Value{of(tensor.F32, sym(1, 3, 1)), nil, scalar(2)}},
		{"frames step", "STFT", 17, nil, []*op.Value{of(tensor.F32, sym(1, 9, 1)), scalar(0), of(tensor.F32, sym(3))}},
		{"window huge", "HannWindow", 17, nil, []*op.Value{scalar(big)}},
		{"mel huge", "MelWeightMatrix", 17, nil, []*op.Value{scalar(big), scalar(big), scalar(1), of(tensor.F32, sym()), of(tensor.F32, sym())}},
		{"centre crop negative", "CenterCropPad", 18, nil, []*op.Value{x, vec(-1, 3)}},
		{"columns huge", "Col2Im", 18, nil, []*op.Value{of(tensor.F32, sym(1, 4, 4)), vec(big, big), vec(2, 2)}},
		{"unpool huge", "MaxUnpool", 11, attrs("kernel_shape", []int64{1 << 30}, "strides", []int64{1 << 30}), []*op.Value{of(tensor.F32, sym(1, 1, 1<<40)), of(tensor.I64, sym(1, 1, 1<<40))}},
		{"grid axes", "GridSample", 20, nil, []*op.Value{of(tensor.F32, sym(1, 1, 2, 2)), of(tensor.F32, sym(1, 2, 2, 3))}},
		{"affine grid huge", "AffineGrid", 20, nil, []*op.Value{of(tensor.F32, sym(1, 2, 3)), vec(1, 1, big, big)}},
		{"einsum extents", "Einsum", 12, attrs("equation", "ij,ij"), []*op.Value{x, of(tensor.F32, sym(3, 2))}},
		{"deform axes", "DeformConv", 19, nil, []*op.Value{x, of(tensor.F32, sym(2, 3)), x}},
		{"trilu vector", "Trilu", 14, nil, []*op.Value{of(tensor.F32, sym(3))}},
	}
	r := standard.Registry()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := &graph.Node{Op: tt.op, Version: tt.version, Attrs: tt.attrs, Inputs: make([]string, len(tt.in)),
				Outputs: []string{"a", "b"}}
			for i, v := range tt.in {
				if v != nil {
					n.Inputs[i] = fmt.Sprint("in", i)
				}
			}
			if tt.op != "Split" {
				n.Outputs = n.Outputs[:1]
			}
			o, _, err := r.New(n)
			if err != nil {
				t.Fatal(err)
			}
			out, err := kit.InferOutputs(o, n, tt.in)
			if err == nil {
				t.Fatalf("got %v, want an error", out[0].Type)
			}
			if !errors.Is(err, graph.ErrShape) && !errors.Is(err, graph.ErrFormat) {
				t.Errorf("error %q has no kind", err)
			}
		})
	}
}
