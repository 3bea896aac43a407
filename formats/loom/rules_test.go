package loom_test

import (
	"math"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/formats/loom"
)

// stored returns a layer with weights of float32.
func stored(l loom.Layer, weights ...float32) *loom.Layer {
	l.Activation = loom.Linear
	l.SeqLength = 1
	l.Weights = loom.NewStore(loom.Float32, weights)
	return &l
}

// square returns a Dense layer that maps (1, 1) to (3, 7).
func square() *loom.Layer {
	return stored(loom.Layer{Type: loom.Dense, InputHeight: 2, OutputHeight: 2, DType: loom.Float32}, 1, 2, 3, 4)
}

// observing returns a Metacognition layer around another.
func observing(l *loom.Layer, rules ...loom.Rule) *loom.Layer {
	return &loom.Layer{Type: loom.Metacognition, Activation: loom.Linear, DType: loom.Float32, SeqLength: 1, Observed: l, Rules: rules}
}

// computed returns the output of a network for one row.
func computed(t *testing.T, n *loom.Network, quirks bool, x ...float32) ([]float32, error) {
	t.Helper()
	in := must(nacre.NewTensor(x, 1, len(x)))
	out, err := ran(opened(t, n), nacre.Options{Threads: 1, Lowering: formats.Lowering{Quirks: quirks}}, map[string]*nacre.Tensor{"input": in})
	if err != nil {
		return nil, err
	}
	return must(nacre.Data[float32](out["output"])), nil
}

func close32(a, b []float32) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !(math.Abs(float64(a[i]-b[i])) < 1e-5) {
			return false
		}
	}
	return true
}

// TestConditions fires a rule at thresholds on both sides of the value that its condition compares.
// The layer's output is 3 and -7: mean -2, deviation 5, largest 3, all active; the mean of its
// input is 1.
func TestConditions(t *testing.T) {
	for _, c := range []struct {
		name      string
		condition int
		threshold float64
		fires     bool
	}{
		{"never", 0, -1, false},
		{"deviation above", 1, 4.9, true},
		{"deviation not above", 1, 5.1, false},
		{"deviation below", 2, 5.1, true},
		{"deviation not below", 2, 4.9, false},
		{"mean above", 3, 1.9, true},
		{"mean not above", 3, 2.1, false},
		{"mean below", 4, 2.1, true},
		{"mean not below", 4, 1.9, false},
		{"largest above", 5, 2.9, true},
		{"largest not above", 5, 3.1, false},
		{"few active", 6, 1.1, true},
		{"many active", 6, 1, false},
		{"growth of one input", 7, -1, false},
		{"change", 8, 0.9, true},
		{"little change", 8, 1.1, false},
		{"no condition", 9, -1, false},
		{"a negative one", -1, -1, false},
	} {
		l := stored(loom.Layer{Type: loom.Dense, InputHeight: 2, OutputHeight: 2, DType: loom.Float32}, 1, 2, -3, -4)
		rule := loom.Rule{Condition: c.condition, Threshold: c.threshold, Command: 101, SelfOnly: true}
		want := []float32{3, -7}
		if c.fires {
			want = []float32{1, 1}
		}
		got, err := computed(t, gridOf(observing(l, rule)), true, 1, 1)
		if err != nil || !close32(got, want) {
			t.Errorf("%s: %v, %v; not %v", c.name, got, err, want)
		}
		if got, err := computed(t, gridOf(observing(l, rule)), false, 1, 1); err != nil || !close32(got, []float32{3, -7}) {
			t.Errorf("%s, without quirks: %v, %v", c.name, got, err)
		}
	}
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// always returns a rule that fires.
func always(command, param float32) loom.Rule {
	return loom.Rule{Condition: 6, Threshold: 2, Command: command, Param: param, SelfOnly: true}
}

// TestCommands runs commands on layers that map (1, 1) to (3, 7).
func TestCommands(t *testing.T) {
	gate := func(x float64) float32 { return float32(sigmoid(x) * math.Tanh(sigmoid(x)*math.Tanh(x))) }
	norm := stored(loom.Layer{Type: loom.RMSNorm, InputHeight: 2, OutputHeight: 2, DType: loom.Float32}, 2, 3)
	one := stored(loom.Layer{Type: loom.Dense, InputHeight: 2, OutputHeight: 1, DType: loom.Float32}, 5, 6)
	wide := stored(loom.Layer{Type: loom.Dense, InputHeight: 2, OutputHeight: 3, DType: loom.Float32}, 1, 2, 3, 4, 5, 6)
	coarse := stored(loom.Layer{Type: loom.Dense, InputHeight: 2, OutputHeight: 2, DType: loom.Float32}, 7, -3.4, 1.2, 0)
	scaled := stored(loom.Layer{Type: loom.Dense, InputHeight: 2, OutputHeight: 2, DType: loom.Float32}, 7, -3.4, 1.2, 0)
	scaled.Weights.Scale = 2
	codes := square()
	codes.DType, codes.Weights = loom.Int8, &loom.Blob{DType: loom.Int8, Scale: 1, Native: true, Data: []byte{1, 2, 3, 4}}
	recurrent := stored(loom.Layer{Type: loom.RNN, InputHeight: 2, OutputHeight: 2, DType: loom.Float32}, 1, 2, 3, 4, 9, 9, 9, 9, 9, 9)
	after := loom.Rule{Condition: 5, Threshold: 6, Command: 101, SelfOnly: true, Cooldown: 1}
	for _, c := range []struct {
		name  string
		layer *loom.Layer
		rules []loom.Rule
		x     []float32
		want  []float32
	}{
		{"identity", square(), []loom.Rule{always(101, 0)}, []float32{1, 2}, []float32{1, 2}},
		{"first feature", one, []loom.Rule{always(101, 0)}, []float32{3, 4}, []float32{3}},
		{"identity of another shape", wide, []loom.Rule{always(101, 0)}, []float32{1, 1}, []float32{3, 7, 11}},
		{"identity of codes", codes, []loom.Rule{always(101, 0)}, []float32{1, 1}, []float32{3, 7}},
		{"identity of a norm", norm, []loom.Rule{always(101, 0)}, []float32{1, -1}, []float32{2, -3}},
		{"no command", square(), []loom.Rule{always(55, 0)}, []float32{1, 1}, []float32{3, 7}},
		{"the same type", square(), []loom.Rule{always(70, 0)}, []float32{1, 1}, []float32{3, 7}},
		{"Softmax", square(), []loom.Rule{always(83, 0)}, []float32{0, float32(math.Log(3))}, []float32{0.25, 0.75}},
		{"Softmax of another shape", wide, []loom.Rule{always(83, 0)}, []float32{0, float32(math.Log(3))}, []float32{0.25, 0.75}},
		{"Softmax of codes", codes, []loom.Rule{always(83, 0)}, []float32{0, float32(math.Log(3))}, []float32{0.25, 0.75}},
		{"RMSNorm", square(), []loom.Rule{always(90, 0)}, []float32{3, 4}, []float32{0.8485281, 2.2627417}},
		{"RNN", square(), []loom.Rule{always(81, 0)}, []float32{0.1, 0.1}, []float32{float32(math.Tanh(0.3)), float32(math.Tanh(0.7))}},
		{"LSTM", square(), []loom.Rule{always(93, 0)}, []float32{0.1, 0.1}, []float32{gate(0.3), gate(0.7)}},
		{"Dense of a norm", norm, []loom.Rule{always(70, 0)}, []float32{1, 1}, []float32{5, 1}},
		{"Dense of an RNN", recurrent, []loom.Rule{always(70, 0)}, []float32{1, 1}, []float32{3, 7}},
		{"int4", coarse, []loom.Rule{always(99, 14)}, []float32{1, 1}, []float32{4, 1}},
		{"int4 with the scale that was", scaled, []loom.Rule{always(99, 14)}, []float32{1, 1}, []float32{4, 2}},
		{"the same dtype", square(), []loom.Rule{always(99, 1)}, []float32{1, 1}, []float32{3, 7}},
		{"cooldown", square(), []loom.Rule{after}, []float32{1, 1}, []float32{3, 7}},
		{"both", square(), []loom.Rule{always(101, 0), always(83, 0)}, []float32{1, 1}, []float32{0.5, 0.5}},
		{"the second", square(), []loom.Rule{{Condition: 5, Threshold: 99, Command: 83, SelfOnly: true}, always(101, 0)}, []float32{1, 2}, []float32{1, 2}},
		{"the first", square(), []loom.Rule{always(101, 0), {Condition: 5, Threshold: 99, Command: 83, SelfOnly: true}}, []float32{1, 2}, []float32{1, 2}},
	} {
		got, err := computed(t, gridOf(observing(c.layer, c.rules...)), true, c.x...)
		if err != nil || !close32(got, c.want) {
			t.Errorf("%s: %v, %v; not %v", c.name, got, err, c.want)
		}
	}
}

// TestOtherLayers runs rules for other layers of the grid, where layers that have run stay as they
// are, and rules on the growth of inputs from layer to layer.
func TestOtherLayers(t *testing.T) {
	other := func(at float32) loom.Rule { r := always(101, at); r.SelfOnly = false; return r }
	growing := func(threshold float64) loom.Rule {
		return loom.Rule{Condition: 7, Threshold: threshold, Command: 101, SelfOnly: true}
	}
	none := func() *loom.Layer { return observing(nil) }
	for _, c := range []struct {
		name   string
		layers []*loom.Layer
		want   []float32
	}{
		{"the next", []*loom.Layer{observing(square(), other(1)), square()}, []float32{3, 7}},
		{"itself", []*loom.Layer{observing(square(), other(0)), square()}, []float32{3, 7}},
		{"the last", []*loom.Layer{square(), observing(square(), other(0))}, []float32{17, 37}},
		{"outside", []*loom.Layer{observing(square(), other(2)), square()}, []float32{17, 37}},
		{"the observed", []*loom.Layer{observing(square(), other(1)), observing(square())}, []float32{3, 7}},
		{"the observed and again", []*loom.Layer{observing(square(), other(1)), observing(square(), always(83, 0))}, []float32{0.01798621, 0.98201379}},
		{"growth", []*loom.Layer{none(), square(), none(), observing(square(), growing(5.9))}, []float32{5, 11}},
		{"less growth", []*loom.Layer{none(), square(), none(), observing(square(), growing(6.1))}, []float32{27, 59}},
		{"growth of two", []*loom.Layer{square(), none(), observing(square(), growing(0.1))}, []float32{17, 37}},
	} {
		n := gridOf(c.layers...)
		n.Cols, n.LayersPerCell = len(c.layers), 1
		for i, l := range n.Layers {
			l.X, l.L = i, 0
		}
		x := []float32{1, 1}
		if strings.Contains(c.name, "growth") && len(c.layers) == 4 {
			x = []float32{1, 2}
		}
		got, err := computed(t, n, true, x...)
		if err != nil || !close32(got, c.want) {
			t.Errorf("%s: %v, %v; not %v", c.name, got, err, c.want)
		}
	}
}

// TestNoRules checks rules that no graph computes.
func TestNoRules(t *testing.T) {
	codes := square()
	codes.DType, codes.Weights = loom.Int8, &loom.Blob{DType: loom.Int8, Scale: 1, Native: true, Data: []byte{1, 2, 3, 4}}
	wide := stored(loom.Layer{Type: loom.Dense, InputHeight: 2, OutputHeight: 3, DType: loom.Float32}, 1, 2, 3, 4, 5, 6)
	var many []loom.Rule
	for range 7 {
		many = append(many, always(101, 0))
	}
	for want, l := range map[string]*loom.Layer{
		"random weights":         observing(square(), always(91, 0)),
		"CNN1 layer without":     observing(square(), always(80, 0)),
		"HeadAttention layer":    observing(square(), always(92, 0)),
		"number of its clusters": observing(square(), always(98, 3)),
		"number of no dtype":     observing(square(), always(99, 21)),
		"has no weights":         observing(&loom.Layer{Type: loom.Softmax, SeqLength: 1, Activation: loom.Linear}, always(70, 0)),
		"are int8":               observing(codes, always(90, 0)),
		"2 and 3":                observing(wide, always(81, 0)),
		"observes another":       observing(observing(square()), always(101, 0)),
		"more than 6 rules":      observing(square(), many...),
	} {
		_, err := computed(t, gridOf(l), true, 1, 1)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "layers.0.meta_observed_layer") {
			t.Errorf("%v does not say %q", err, want)
		}
	}
}
