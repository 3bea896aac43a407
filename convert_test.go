package nacre_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// vector returns a tensor with one axis.
func vector[T nacre.Element](t *testing.T, list ...T) *nacre.Tensor {
	t.Helper()
	x, err := nacre.NewTensor(list, len(list))
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// TestConvert converts elements whose results are known.
func TestConvert(t *testing.T) {
	inf := float32(math.Inf(1))
	words := func(list ...string) *nacre.Tensor {
		x, err := nacre.Strings(list, len(list))
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	for _, tt := range []struct {
		from, want *nacre.Tensor
	}{
		{vector(t, int32(1), -2), vector(t, int64(1), -2)},
		{vector(t, 1.5, -2.75), vector[float32](t, 1.5, -2.75)},
		{vector(t, float32(1.9), -1.9, 300, -300, inf, float32(math.NaN())), vector(t, int8(1), -1, 127, -128, 127, 0)},
		{vector(t, int32(257), -1), vector(t, uint8(1), 255)},
		{vector(t, float32(0), 0.5, -1), vector(t, false, true, true)},
		{vector(t, false, true), vector[float32](t, 0, 1)},
		{vector(t, float32(1.0009765625), 70000), vector(t, packed.ToF16(1.0009765625), packed.ToF16(inf))},
		{words("1.5", " -2", "nan"), vector(t, float32(1.5), -2, float32(math.NaN()))},
		{words("7", "-8.9"), vector(t, int64(7), -8)},
		{vector(t, int64(-12), 3), words("-12", "3")},
		{vector(t, uint8(3)), vector(t, uint8(3))},
	} {
		got, err := tt.from.Convert(tt.want.DType())
		if err != nil {
			t.Errorf("%v: %v", tt.from, err)
			continue
		}
		if got.String() != tt.want.String() || !slices.Equal(got.Bytes(), tt.want.Bytes()) || !slices.Equal(got.Strings(), tt.want.Strings()) {
			t.Errorf("%v is %v, want %v", tt.from, got, tt.want)
		}
		if len(got.Bytes()) > 0 && len(tt.from.Bytes()) > 0 && &got.Bytes()[0] == &tt.from.Bytes()[0] {
			t.Errorf("%v shares memory", got)
		}
	}
}

// TestConvertAsCast converts between all types and compares with a model of one node.
func TestConvertAsCast(t *testing.T) {
	numbers := vector[float32](t, 0, 1, -1, 2.5, -2.5, 6, 127.5, -1000, 1e9, -1e20)
	converted := 0
	for from := nacre.Float32; from.Valid(); from++ {
		x, err := numbers.Convert(from)
		if err != nil {
			if !errors.Is(err, nacre.ErrUnsupported) {
				t.Errorf("float32 to %v: %v", from, err)
			}
			continue
		}
		for to := nacre.Float32; to.Valid(); to++ {
			got, err := x.Convert(to)
			if err != nil {
				if !errors.Is(err, nacre.ErrUnsupported) {
					t.Errorf("%v to %v: %v", from, to, err)
				}
				continue
			}
			b := graph.NewBuilder("cast")
			in := b.Input("x", graph.TensorOf(tensor.DType(from), graph.Dims{graph.Known(x.Len())}))
			y := b.Op("Cast", []string{in}, graph.IntAttr("to", int64(tensor.DType(to).Code())))
			b.Output(y, "y", graph.TensorOf(tensor.DType(to), graph.Dims{graph.Known(x.Len())}))
			m, err := nacre.NewModel(b.Model(&graph.Model{Producer: "test", IR: 13}))
			if err != nil {
				t.Fatal(err)
			}
			s, err := m.NewSession(nacre.Options{Threads: 1})
			if err != nil {
				t.Fatal(from, to, err)
			}
			out, err := s.Run(t.Context(), map[string]*nacre.Tensor{"x": x})
			if want := out["y"]; err != nil || got.String() != want.String() || !slices.Equal(got.Bytes(), want.Bytes()) ||
				!slices.Equal(got.Strings(), want.Strings()) {
				t.Errorf("%v to %v is %v, want %v; %v", from, to, got, want, err)
			}
			converted++
			s.Close()
			m.Close()
		}
	}
	if converted < 500 {
		t.Errorf("%d pairs of types are converted", converted)
	}
}

// TestConvertRefused asks for conversions that do not exist.
func TestConvertRefused(t *testing.T) {
	words, err := nacre.Strings([]string{"a"}, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		x    *nacre.Tensor
		to   nacre.DType
		kind error
	}{
		{nil, nacre.Float32, nacre.ErrShape},
		{&nacre.Tensor{}, nacre.Float32, nacre.ErrShape},
		{vector(t, 1.0), nacre.Invalid, nacre.ErrUnsupported},
		{vector(t, 1.0), nacre.DType(200), nacre.ErrUnsupported},
		{vector(t, 1.0), nacre.Q4_0, nacre.ErrUnsupported},
		{vector(t, 1.0), nacre.Ternary1, nacre.ErrUnsupported},
		{vector(t, 1.0), nacre.Complex64, nacre.ErrUnsupported},
		{vector(t, complex64(1)), nacre.Float32, nacre.ErrUnsupported},
		{words, nacre.Float32, nacre.ErrShape},
	} {
		if got, err := tt.x.Convert(tt.to); !errors.Is(err, tt.kind) {
			t.Errorf("%v to %v is %v, %v", tt.x, tt.to, got, err)
		}
	}
}
