package web_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/internal/diagram"
	"github.com/nacre-ml/nacre/internal/diagram/page"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// openPicture shows the page of a model's picture, in which viewer is a variable.
func openPicture(t *testing.T, m *graph.Model) *browser {
	t.Helper()
	b := openBrowser(t)
	d, err := diagram.Draw(context.Background(), m)
	if err != nil {
		t.Fatal(err)
	}
	var html bytes.Buffer
	if err := page.Write(&html, "picture.onnx", d); err != nil {
		t.Fatal(err)
	}
	b.file("picture.html", html.Bytes())
	b.wait(`viewer.drawn`)
	return b
}

// phone makes the window as small as a telephone's.
func (b *browser) phone() {
	b.t.Helper()
	b.devtools("Emulation.setDeviceMetricsOverride", map[string]any{"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": true}, nil)
	b.wait(`viewer.width < 390`)
}

// heads returns a model with all nodes in one scope, and in it a stem and so many heads beside each
// other, of 20 nodes each. Their operators differ, so that the heads are no blocks.
func heads(n int) *graph.Model {
	f := graph.TensorOf(tensor.F32, graph.Dims{graph.Known(4)})
	g := &graph.Graph{Name: "heads", Inputs: []*graph.Value{{Name: "x", Type: f}},
		Initializers: []*graph.Initializer{{Name: "module.stem.bias", Tensor: tensor.New(tensor.F32, 4)}}}
	add := func(scope, op string, in ...string) string {
		out := fmt.Sprintf("/module/%s/%s_%d", scope, op, len(g.Nodes))
		g.Nodes = append(g.Nodes, &graph.Node{Name: out, Op: op, Version: 17, Inputs: in, Outputs: []string{out + "_output"}})
		return out + "_output"
	}
	shared := add("stem", "Identity", "module.stem.bias")
	stem := add("stem", "Relu", add("stem", "Add", "x", shared))
	ops := []string{"Relu", "Tanh", "Sigmoid", "Neg", "Abs", "Exp", "Softplus"}
	for k := range n {
		x := stem
		for i := range 20 {
			x = add(fmt.Sprintf("head_%c", 'a'+k), ops[(k*k+i*i*(k+1))%len(ops)], x)
		}
		g.Outputs = append(g.Outputs, &graph.Value{Name: x, Type: f})
	}
	return &graph.Model{Format: "onnx", IR: 8, Opsets: []graph.Opset{{Version: 17}}, Graph: g}
}

// TestPictureOpens opens a picture with a group around all nodes. The group is open, and the input is in
// the middle and can be read, also if all groups are open and the picture is much wider than the window.
func TestPictureOpens(t *testing.T) {
	b := openPicture(t, heads(12))
	opened := func(step string) {
		t.Helper()
		var got struct {
			Title, First string
			Scale, X, Y  float64
			Module       bool
		}
		b.eval(`const first = viewer.scene.boxes[0], module = viewer.scene.boxes.find((p) => p.box.title === "module");
			return { Title: viewer.title.textContent, First: first.box.title, Module: !!module?.ports, Scale: viewer.scale,
				X: (viewer.x + first.x * viewer.scale) / viewer.width, Y: viewer.y + first.y * viewer.scale };`, &got)
		if got.Title != "heads · 243 nodes, 1 of them a constant" || got.First != "x" || !got.Module || got.Scale < 0.7 ||
			got.X < 0.3 || got.X > 0.7 || got.Y < 0 || got.Y > 450 {
			t.Errorf("%s: %+v", step, got)
		}
	}
	opened("at first")
	b.eval(`viewer.unfold(true);`, nil)
	opened("all groups open")
	b.eval(`viewer.zoom(0.05); viewer.fit();`, nil)
	opened("fit")
	b.phone()
	b.eval(`viewer.fit();`, nil)
	opened("on a telephone")
	b.look("opened")
}

// TestPictureDetails opens a group beside its details, which have room for long names, and the summary.
func TestPictureDetails(t *testing.T) {
	b := openPicture(t, heads(3))
	for _, want := range []string{"heads", "63 nodes, 1 of them a constant", "Inputs", "float32[4]", "Largest groups", "head_a · 20 nodes"} {
		if text := b.wait(`viewer.details.textContent`); !strings.Contains(text, want) {
			t.Errorf("the summary has no %q: %s", want, text)
		}
	}
	seen := func(step string) {
		t.Helper()
		var got struct {
			Covered, Inside bool
			Narrow, Unnamed int
		}
		b.eval(`const a = viewer.canvas.getBoundingClientRect(), d = viewer.details.getBoundingClientRect();
			const p = viewer.scene.at.get(viewer.selected), top = viewer.y + (p.y - p.h / 2) * viewer.scale;
			return { Covered: a.right > d.left + 1 && a.bottom > d.top + 1, Inside: top >= 0 && top < viewer.height - 40,
				Narrow: [...viewer.details.querySelectorAll("dd")].filter((e) => e.offsetWidth < 60 && e.offsetHeight > 30).length,
				Unnamed: [...viewer.root.querySelectorAll("button")].filter((e) => !e.title && e.textContent.length < 3).length };`, &got)
		if got.Covered || !got.Inside || got.Narrow > 0 || got.Unnamed > 0 {
			t.Errorf("%s: %+v", step, got)
		}
	}
	for _, window := range []string{"a desk", "a telephone"} {
		b.eval(`viewer.unfold(false); viewer.fit();`, nil)
		b.press("module")
		seen("a group on " + window)
		b.eval(`const p = viewer.scene.boxes.find((p) => p.box.title === "stem"); viewer.toggle(p.box);
			viewer.select(viewer.scene.boxes.find((p) => p.box.title === "Add").box, true);`, nil)
		seen("a node on " + window)
		if text := b.wait(`viewer.details.textContent`); !strings.Contains(text, "module.stem.bias (by Identity)") {
			t.Errorf("the details on %s have no constant: %s", window, text)
		}
		b.eval(`viewer.select(null);`, nil)
		b.phone()
	}
	if shown := b.wait(`getComputedStyle(viewer.details).display`); shown != "none" {
		t.Errorf("the details on a telephone are %s before anything is selected", shown)
	}
	b.eval(`viewer.about.click();`, nil)
	if shown := b.wait(`getComputedStyle(viewer.details).display`); shown != "block" {
		t.Errorf("the summary on a telephone is %s", shown)
	}
	b.look("summary")
}

// TestPictureSearch searches a picture. A group is found before nodes, and the first Enter stays.
func TestPictureSearch(t *testing.T) {
	b := openPicture(t, heads(3))
	for _, c := range []struct{ text, keys, title, hits string }{
		{"head_b", "", "head_b", "1 of 22"},
		{"head_b", "Enter", "head_b", "1 of 22"},
		{"head_b", "Enter Enter", "/module/head_b/Sigmoid_42_output", "2 of 22"},
		{"stem.bias", "Enter", "Add", "1 of 1"},
		{"stem", "Enter Enter", "Add", "2 of 3"},
		{"nothing", "Enter", "undefined", "not found"},
	} {
		b.eval(`viewer.select(null);
			viewer.search.value = "`+c.text+`";
			viewer.search.dispatchEvent(new Event("input"));
			for (const key of "`+c.keys+`".split(" ")) viewer.search.dispatchEvent(new KeyboardEvent("keydown", { key }));`, nil)
		if got := b.wait(`viewer.selected?.title + ", " + viewer.hits.textContent`); got != c.title+", "+c.hits {
			t.Errorf("%s and %q find %s, want %s, %s", c.text, c.keys, got, c.title, c.hits)
		}
	}
}

// TestPictureBar has all of the bar in a narrow window, also while something is found.
func TestPictureBar(t *testing.T) {
	b := openPicture(t, heads(3))
	b.phone()
	b.eval(`viewer.search.value = "head_b"; viewer.search.dispatchEvent(new Event("input"));`, nil)
	var got struct {
		Cut, Search int
		Title       bool
	}
	b.eval(`const bar = viewer.root.querySelector(".bar"), parts = [...bar.querySelectorAll("button, input, span")].filter((e) => e.offsetWidth);
		return { Cut: parts.filter((e) => e.getBoundingClientRect().right > bar.getBoundingClientRect().right).length,
			Search: viewer.search.offsetWidth, Title: viewer.title.offsetWidth > 100 };`, &got)
	if got.Cut > 0 || got.Search < 120 || !got.Title {
		t.Errorf("the bar is %+v", got)
	}
	b.look("narrow")
}

// TestPictureHeads zooms out of open groups. Titles do not cover each other.
func TestPictureHeads(t *testing.T) {
	b := openPicture(t, heads(3))
	var overlaps, titles int
	b.eval(`viewer.unfold(true);
		globalThis.titles = 0;
		let overlaps = 0;
		for (let k = 0; k < 40; k++) {
			viewer.zoom(0.93, k * 20, 40);
			viewer.draw();
			const heads = viewer.scene.boxes.filter((p) => p.head).map((p) => p.head);
			titles += heads.length;
			heads.forEach((a, i) => heads.slice(i + 1).forEach((b) => {
				if (a[0] < b[0] + b[2] && b[0] < a[0] + a[2] && a[1] < b[1] + b[3] && b[1] < a[1] + a[3]) overlaps++;
			}));
		}
		return overlaps;`, &overlaps)
	b.eval(`return titles;`, &titles)
	if overlaps > 0 || titles < 40 {
		t.Errorf("of %d titles %d overlap", titles, overlaps)
	}
}
