package quantize_test

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/quantize"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestMeasure compares the importance of columns with means of squares.
func TestMeasure(t *testing.T) {
	for _, version := range []int{13, 17, 21} {
		m := network(t, tensor.F32, version)
		var inputs []*tensor.Tensor
		want := make([]float64, deep)
		for i := range 3 {
			x := random(t, tensor.F32, deep, deep)
			for k := range x.Len() {
				tensor.View[float32](x)[k] *= float32(i + k%7)
				want[k%deep] += math.Pow(float64(tensor.View[float32](x)[k]), 2) / (3 * deep)
			}
			inputs = append(inputs, x)
		}
		runs := func(yield func(map[string]*nacre.Tensor, error) bool) {
			for _, x := range inputs {
				if !yield(map[string]*nacre.Tensor{"x": given(t, x), "ids": given(t, tensor.New(tensor.I64, 7))}, nil) {
					return
				}
			}
		}
		p, err := quantize.Measure(context.Background(), m, runs, nacre.Options{Threads: 1})
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Columns) != 2 || p.Chunks != 3 {
			t.Errorf("%d weights, %d chunks", len(p.Columns), p.Chunks)
		}
		for _, weight := range []string{"A", "B"} {
			for i, v := range p.Columns[weight] {
				if math.Abs(float64(v)-want[i]) > 1e-4*want[i] {
					t.Fatalf("set %d: importance of column %d of %s is %g, want %g", version, i, weight, v, want[i])
				}
			}
		}
		path := filepath.Join(t.TempDir(), "imatrix.gguf")
		if err := formats.Save(path, p.Model(), formats.Options{}); err != nil {
			t.Fatal(err)
		}
		again, err := quantize.ReadImportance(context.Background(), path)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range p.Columns["A"] {
			if w := again.Columns["A"][i]; math.Abs(float64(w-v)) > 1e-6*float64(v) {
				t.Errorf("column %d is %g in the file, and was %g", i, w, v)
			}
		}
		failed := errors.New("no more")
		_, err = quantize.Measure(context.Background(), m, func(yield func(map[string]*nacre.Tensor, error) bool) { yield(nil, failed) }, nacre.Options{})
		if !errors.Is(err, failed) {
			t.Errorf("inputs fail: %v", err)
		}
		if _, err := quantize.Measure(context.Background(), m, func(func(map[string]*nacre.Tensor, error) bool) {}, nacre.Options{}); err == nil ||
			!strings.Contains(err.Error(), "no calibration") {
			t.Errorf("no inputs: %v", err)
		}
	}
}

// tokens are runs of a decoder.
func tokens(t *testing.T) quantize.Runs {
	return func(yield func(map[string]*nacre.Tensor, error) bool) {
		for n := range 4 {
			x := tensor.New(tensor.I64, 1, 12)
			for i := range x.Len() {
				tensor.View[int64](x)[i] = int64(3 + (i*37+n*11)%200)
			}
			if !yield(map[string]*nacre.Tensor{"input_ids": given(t, x)}, nil) {
				return
			}
		}
	}
}

// TestDecoder measures the importance of a decoder's weights, quantises with it, and compares the
// results' logits with the original's.
func TestDecoder(t *testing.T) {
	source := floats(t, sample(t, "llama_wide.Q4_K_M.gguf"))
	lower := func(opened *nacre.Model, err error) *nacre.Model {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return opened
	}
	opened := lower(nacre.NewModel(source))
	reference, err := opened.Network()
	if err != nil {
		t.Fatal(err)
	}
	p, err := quantize.Measure(context.Background(), reference, tokens(t), nacre.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"blk.0.attn_q.weight", "blk.1.ffn_down.weight", "blk.1.attn_output.weight", "output.weight"} {
		if len(p.Columns[name]) == 0 {
			t.Errorf("%s has no importance", name)
		}
	}
	last := math.Inf(1)
	for _, to := range []string{"q2_k", "q3_k", "q5_k", "q8_0"} {
		made, _, err := quantize.Model(context.Background(), source, quantize.Options{Type: typeOf(t, to), Pure: true, Importance: p})
		if err != nil {
			t.Fatal(err)
		}
		made.Closer = nil
		network, err := lower(nacre.NewModel(made)).Network()
		if err != nil {
			t.Fatal(err)
		}
		d, err := quantize.Compare(context.Background(), reference, network, tokens(t), nacre.Options{Threads: 1})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %+v", to, *d)
		if d.Rows != 48 || !(d.KL < last) || d.KL < 0 || d.Most < d.KL || d.Output != "logits" {
			t.Errorf("%s: %+v after a divergence of %g", to, *d, last)
		}
		last = d.KL
	}
	d, err := quantize.Compare(context.Background(), reference, reference, tokens(t), nacre.Options{Threads: 1})
	if err != nil || d.KL > 1e-12 || d.Same != 1 || d.Error != 0 {
		t.Errorf("a network and itself: %+v, %v", d, err)
	}
}
