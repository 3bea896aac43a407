package nn

import (
	"errors"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
)

func intsAttr(name string, v ...int64) *graph.Attr {
	return &graph.Attr{Name: name, Kind: graph.AttrInts, Ints: v}
}

func strAttr(name, v string) *graph.Attr {
	return &graph.Attr{Name: name, Kind: graph.AttrString, Str: []byte(v)}
}

func intAttr(name string, v int64) *graph.Attr {
	return &graph.Attr{Name: name, Kind: graph.AttrInt, Int: v}
}

func TestWindow(t *testing.T) {
	for _, c := range []struct {
		name       string
		attrs      []*graph.Attr
		in         []int
		out        []int
		begin, end []int
	}{
		{"defaults", []*graph.Attr{intsAttr("kernel_shape", 3)}, []int{7}, []int{5}, []int{0}, []int{0}},
		{"stride and pads", []*graph.Attr{intsAttr("kernel_shape", 3, 2), intsAttr("strides", 2, 1), intsAttr("pads", 1, 0, 2, 1)},
			[]int{8, 4}, []int{5, 4}, []int{1, 0}, []int{2, 1}},
		{"dilation", []*graph.Attr{intsAttr("kernel_shape", 3), intsAttr("dilations", 2)}, []int{7}, []int{3}, []int{0}, []int{0}},
		{"same upper", []*graph.Attr{intsAttr("kernel_shape", 2), strAttr("auto_pad", "SAME_UPPER")}, []int{5}, []int{5}, []int{0}, []int{1}},
		{"same lower", []*graph.Attr{intsAttr("kernel_shape", 2), strAttr("auto_pad", "SAME_LOWER")}, []int{5}, []int{5}, []int{1}, []int{0}},
		{"same with gaps between windows", []*graph.Attr{intsAttr("kernel_shape", 1), intsAttr("strides", 3), strAttr("auto_pad", "SAME_UPPER")},
			[]int{6}, []int{2}, []int{0}, []int{0}},
		{"valid", []*graph.Attr{intsAttr("kernel_shape", 3), intsAttr("strides", 2), strAttr("auto_pad", "VALID"), intAttr("ceil_mode", 1)},
			[]int{6}, []int{2}, []int{0}, []int{0}},
		{"ceil", []*graph.Attr{intsAttr("kernel_shape", 3), intsAttr("strides", 2), intAttr("ceil_mode", 1)}, []int{6}, []int{3}, []int{0}, []int{0}},
		{"ceil leaves out a window in the padding", []*graph.Attr{intsAttr("kernel_shape", 1), intsAttr("strides", 2), intAttr("ceil_mode", 1)},
			[]int{2}, []int{1}, []int{0}, []int{0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, err := ReadWindow(&op.Node{Node: &graph.Node{Attrs: c.attrs}}, true)
			if err != nil {
				t.Fatal(err)
			}
			if w, err = w.bind(len(c.in), nil); err != nil {
				t.Fatal(err)
			}
			r, out, err := w.resolve(c.in)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(out, c.out) || !slices.Equal(r.padBegin, c.begin) || !slices.Equal(r.padEnd, c.end) {
				t.Errorf("out %v, pads %v %v", out, r.padBegin, r.padEnd)
			}
		})
	}
}

func TestWindowErrors(t *testing.T) {
	for _, c := range []struct {
		name   string
		attrs  []*graph.Attr
		weight []int
		in     []int
	}{
		{"no kernel", nil, nil, []int{4}},
		{"zero stride", []*graph.Attr{intsAttr("kernel_shape", 1), intsAttr("strides", 0)}, nil, []int{4}},
		{"negative dilation", []*graph.Attr{intsAttr("kernel_shape", 1), intsAttr("dilations", -1)}, nil, []int{4}},
		{"negative pad", []*graph.Attr{intsAttr("kernel_shape", 1), intsAttr("pads", -1, 0)}, nil, []int{4}},
		{"odd pads", []*graph.Attr{intsAttr("kernel_shape", 1), intsAttr("pads", 1)}, nil, []int{4}},
		{"huge dilation", []*graph.Attr{intsAttr("kernel_shape", 3), intsAttr("dilations", 1<<62)}, nil, []int{4}},
		{"too many strides", []*graph.Attr{intsAttr("kernel_shape", 1), intsAttr("strides", 1, 1)}, nil, []int{4}},
		{"kernel too large", []*graph.Attr{intsAttr("kernel_shape", 5)}, nil, []int{4}},
		{"weight disagrees", []*graph.Attr{intsAttr("kernel_shape", 2)}, []int{3}, []int{4}},
		{"empty weight", nil, []int{0}, []int{4}},
		{"unknown auto_pad", []*graph.Attr{intsAttr("kernel_shape", 2), strAttr("auto_pad", "FULL")}, nil, []int{4}},
		{"same on nothing", []*graph.Attr{intsAttr("kernel_shape", 2), strAttr("auto_pad", "SAME_UPPER")}, nil, []int{0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, err := ReadWindow(&op.Node{Node: &graph.Node{Attrs: c.attrs}}, true)
			if err == nil {
				w, err = w.bind(len(c.in), c.weight)
			}
			if err == nil {
				_, _, err = w.resolve(c.in)
			}
			if !errors.Is(err, graph.ErrShape) && !errors.Is(err, graph.ErrFormat) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestWindowSymbolic(t *testing.T) {
	h := graph.Symbol("h")
	w, err := (&Window{kernel: []int{3}, stride: []int{2}, padBegin: []int{1}, padEnd: []int{1}, auto: "NOTSET"}).bind(1,
		nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		edit func(*Window)
		want string
	}{
		{"pads", func(*Window) {}, "(h+1)/2"},
		{"same", func(w *Window) { w.auto = "SAME_UPPER" }, "(h+1)/2"},
		{"ceil", func(w *Window) { w.ceil = true }, "h/2+1"},
		{"ceil that may leave out a window", func(w *Window) { w.ceil = true; w.padEnd = []int{2} }, "?"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := *w
			c.edit(&v)
			if got, err := v.out(0, h); err != nil || got.String() != c.want {
				t.Errorf("got %v, %v, want %s", got, err, c.want)
			}
		})
	}
}
