package openinfer_test

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/formats/internal/fixtures"
	"github.com/nacre-ml/nacre/internal/testenv"
)

// matrix is a matrix of numbers in row order.
type matrix struct {
	rows, cols int
	data       []float64
}

func (a matrix) times(b matrix) matrix {
	c := matrix{a.rows, b.cols, make([]float64, a.rows*b.cols)}
	for i := range a.rows {
		for k := range a.cols {
			for j := range b.cols {
				c.data[i*b.cols+j] += a.data[i*a.cols+k] * b.data[k*b.cols+j]
			}
		}
	}
	return c
}

// each applies f to the elements of a and b. The elements of b repeat.
func (a matrix) each(b matrix, f func(x, y float64) float64) matrix {
	c := matrix{a.rows, a.cols, make([]float64, len(a.data))}
	for i, x := range a.data {
		c.data[i] = f(x, b.data[i%len(b.data)])
	}
	return c
}

func (a matrix) plus(b matrix) matrix {
	return a.each(b, func(x, y float64) float64 { return x + y })
}

func (a matrix) relu() matrix {
	return a.each(a, func(x, _ float64) float64 { return max(x, 0) })
}

// upstream lists programs for the models of OpenInfer's examples, and their expected results for x.
var upstream = []struct {
	model, program string
	cols           int
	want           func(weight func(string) matrix, x matrix, step int) map[string]matrix
}{
	{"residual_mlp_stack", `dynamic { x: f32[B, D]; }
volatile { W(l): f32[D, D] @pattern("res.mlp.w.{l}"); b(l): f32[D] @pattern("res.mlp.b.{l}"); bias0: f32[D]; h: f32[B, D]; y: f32[B, D]; }
block entry {
  op add(x, bias0) >> y;
  loop layers (l in 0..num_layers) {
    op matmul(y, W[l]) >> h;
    op add(h, b[l]) >> h;
    op relu(h, alpha=0.0) >> h;
    op add(y, h) >> y;
  }
  return;
}`, 32, func(w func(string) matrix, x matrix, _ int) map[string]matrix {
		y := x.plus(w("bias0"))
		for _, l := range []string{"0", "1", "2"} {
			y = y.plus(y.times(w("res.mlp.w." + l)).plus(w("res.mlp.b." + l)).relu())
		}
		return map[string]matrix{"y": y}
	}},
	{"linear_attention", `dynamic { x: f32[B, D]; }
constant { wq(h): f32[D, D] @pattern("attn.wq.{h}"); wk(h): f32[D, D] @pattern("attn.wk.{h}"); wv(h): f32[D, D] @pattern("attn.wv.{h}"); w_out: f32[D, D]; }
volatile { out: f32[B, D]; }
block entry {
  assign q: f32[B, D];
  assign k: f32[B, D];
  loop heads (h in 0..num_heads) {
    op matmul(x, wq[h]) >> q;
    op matmul(x, wk[h]) >> k;
    op add(q, k) >> q;
    op matmul(q, wv[h]) >> q;
    op add(out, q) >> out;
  }
  op matmul(out, w_out) >> out;
}`, 32, func(w func(string) matrix, x matrix, _ int) map[string]matrix {
		out := x.each(x, func(float64, float64) float64 { return 0 })
		for _, h := range []string{"0", "1"} {
			out = out.plus(x.times(w("attn.wq." + h)).plus(x.times(w("attn.wk." + h))).times(w("attn.wv." + h)))
		}
		return map[string]matrix{"out": out.times(w("w_out"))}
	}},
	{"stability_guard", `dynamic { x: f32[B, D]; }
constant { bias: f32[D]; }
volatile { ok: bool; y: f32[B, D]; }
block entry { op is_finite(x) >> ok; branch ok good bad; return; }
block good { op add(x, bias) >> y; return; }
block bad { op fill(x, value=0.0) >> y; return; }`, 16, func(w func(string) matrix, x matrix, step int) map[string]matrix {
		y := x.plus(w("bias"))
		if step == 1 { // the input is infinite
			y = x.each(x, func(float64, float64) float64 { return 0 })
		}
		return map[string]matrix{"y": y}
	}},
	{"streaming_pipeline", `dynamic { x: f32[B, D]; }
constant { w: f32[D, D]; bias: f32[D]; }
volatile { h: f32[B, D]; y: f32[B, D]; }
block entry { op matmul(x, w) >> h; yield h; await h; return; }
block reader { await h; op relu(h) >> y; yield h; }
block writer { await h; op add(h, bias) >> h; yield h; }`, 16, func(w func(string) matrix, x matrix, step int) map[string]matrix {
		if step == 1 {
			return nil
		}
		h := x.times(w("w"))
		return map[string]matrix{"y": h.relu(), "h": h.plus(w("bias"))}
	}},
	{"online_weight_update", `dynamic { x: f32[B, D]; }
constant { grad: f32[D, O] @init(0.5); }
volatile { w: f32[D, O]; y: f32[B, O]; }
persistent { W: f32[D, O] @init(0.25); }
block entry {
  cache.read W >> w;
  op matmul(x, w) >> y;
  op sub(w, grad) >> w;
  cache.write w >> W;
}`, 16, func(_ func(string) matrix, x matrix, step int) map[string]matrix {
		w := matrix{16, 8, make([]float64, 16*8)}
		for i := range w.data {
			w.data[i] = 0.25 - 0.5*float64(step)
		}
		if step == 1 {
			return map[string]matrix{}
		}
		return map[string]matrix{"y": x.times(w)}
	}},
}

// TestUpstreamModels runs programs on the models of OpenInfer's examples and checks their results.
func TestUpstreamModels(t *testing.T) {
	testenv.Need(t, bindings.Available())
	dir := filepath.Join(fixtures.Dir(t, "oinf"), "upstream", "v1", "models")
	for _, c := range upstream {
		file := filepath.Join(dir, c.model+".oinf")
		if !exists(file) {
			t.Logf("no model %s", file)
			continue
		}
		program := filepath.Join(t.TempDir(), c.model+".txt")
		if err := os.WriteFile(program, []byte(c.program), 0o666); err != nil {
			t.Fatal(err)
		}
		for name, o := range ways() {
			t.Run(c.model+"/"+name, func(t *testing.T) {
				m, err := openProgram(program, file)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { m.Close() })
				p, err := newStepper(t, m, o)
				if err != nil {
					t.Fatal(err)
				}
				weight := func(name string) matrix {
					w, err := m.Weight(name)
					if err != nil {
						t.Fatal(err)
					}
					s := w.Shape()
					return matrix{s[0], s[len(s)-1], numbers(w)}
				}
				for step := range 3 {
					x := matrix{4, c.cols, make([]float64, 4*c.cols)}
					data := make([]float32, len(x.data))
					for i := range data {
						data[i] = float32(i%7)/8 - 0.25*float32(step+1)
						if step == 1 && i == 5 {
							data[i] = float32(math.Inf(1))
						}
						x.data[i] = float64(data[i])
					}
					out, err := p.step(context.Background(), map[string]*nacre.Tensor{"x": in([]int{4, c.cols}, data...)})
					if err != nil {
						t.Fatal(err)
					}
					for name, want := range c.want(weight, x, step) {
						if step == 1 && !strings.HasPrefix(c.model, "stability") {
							continue // the input is infinite
						}
						got, err := p.fetch(out, name)
						if err != nil {
							t.Fatal(err)
						}
						for i, g := range numbers(got) {
							if d := math.Abs(g - want.data[i]); !(d <= 1e-5+1e-5*math.Abs(want.data[i])) {
								t.Fatalf("step %d: element %d of %s is %v, want %v", step, i, name, g, want.data[i])
							}
						}
					}
				}
			})
		}
	}
}
