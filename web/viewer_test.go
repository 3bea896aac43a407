package web_test

import (
	"strings"
	"testing"
)

// openViewer shows the picture of a served model all over the page, as the variable viewer.
func (b *browser) openViewer(s *site, model string) {
	b.t.Helper()
	b.open(s.URL)
	b.eval(`const [{ load }, { Viewer }] = await Promise.all([import("./nacre.js"), import("./viewer.js")]);
		const session = await load("models/`+model+`"), root = document.createElement("div");
		root.style = "position: fixed; inset: 0; z-index: 9; background: var(--paper)";
		document.body.append(root);
		const start = performance.now();
		globalThis.viewer = new Viewer(root, await session.picture());
		viewer.took = performance.now() - start;
		await session.free();`, nil)
	b.wait(`viewer.drawn`)
}

// press presses the mouse at the middle of a box of the viewer, or at the title of an open group.
func (b *browser) press(title string) {
	b.t.Helper()
	var at struct{ X, Y int }
	b.eval(`await new Promise((next) => requestAnimationFrame(() => requestAnimationFrame(next)));
		const p = viewer.scene.boxes.find((p) => p.box.title === "`+title+`"), c = viewer.canvas.getBoundingClientRect();
		const [x, y] = p.ports ? [p.head[0] + p.head[2] / 2, p.head[1] + p.head[3] / 2] : [p.x, p.y];
		return { X: Math.round(c.left + viewer.x + x * viewer.scale), Y: Math.round(c.top + viewer.y + y * viewer.scale) };`, &at)
	b.post("/actions", map[string]any{"actions": []any{map[string]any{
		"type": "pointer", "id": "mouse", "parameters": map[string]any{"pointerType": "mouse"}, "actions": []any{
			map[string]any{"type": "pointerMove", "x": at.X, "y": at.Y},
			map[string]any{"type": "pointerDown", "button": 0}, map[string]any{"type": "pointerUp", "button": 0},
		}}}}, nil)
}

// keys presses keys, while the canvas of the viewer has the focus.
func (b *browser) keys(values ...string) {
	b.t.Helper()
	b.eval(`viewer.canvas.focus();`, nil)
	var actions []any
	for _, v := range values {
		actions = append(actions, map[string]any{"type": "keyDown", "value": v}, map[string]any{"type": "keyUp", "value": v})
	}
	b.post("/actions", map[string]any{"actions": []any{map[string]any{"type": "key", "id": "keys", "actions": actions}}}, nil)
}

// WebDriver's names of keys.
const (
	keyEnter  = "\uE007"
	keyEscape = "\uE00C"
	keyDown   = "\uE015"
)

// TestFolding opens and closes groups by mouse and keys, finds a node in a closed group, and looks at
// its weights and its time.
func TestFolding(t *testing.T) {
	b, s := openBrowser(t), openSite(t)
	_, s.models["thousand.onnx"] = saved(t, "thousand.onnx", network(t, 1000, 16))
	b.openViewer(s, "thousand.onnx")
	shown := func(step string, want int) {
		t.Helper()
		var got struct{ Boxes, Overlaps, Outside int }
		b.eval(`const { boxes } = viewer.scene, leaves = boxes.filter((p) => !p.ports);
			let Overlaps = 0;
			for (const p of leaves) for (const q of leaves) {
				if (p !== q && Math.abs(p.x - q.x) * 2 < p.w + q.w - 1 && Math.abs(p.y - q.y) * 2 < p.h + q.h - 1) Overlaps++;
			}
			const within = (p, q) => Math.abs(p.x - q.x) * 2 <= q.w - p.w + 1 && Math.abs(p.y - q.y) * 2 <= q.h - p.h + 1;
			return { Boxes: boxes.length, Overlaps, Outside: boxes.filter((p) => p.around && !within(p, p.around)).length };`, &got)
		if got.Boxes != want || got.Overlaps > 0 || got.Outside > 0 {
			t.Errorf("%s: %+v, want %d boxes", step, got, want)
		}
	}
	shown("closed", 3)
	b.press("block 0..199")
	shown("opened", 203)
	b.press("block 0..199")
	shown("closed at its title", 3)
	b.keys(keyEnter)
	shown("opened by Enter", 203)
	b.keys(keyDown, keyEnter, keyDown)
	shown("opened within", 208)
	if title := b.wait(`viewer.selected.title`); title != "MatMul" && title != "Sigmoid" {
		t.Errorf("the arrow selects %s", title)
	}
	b.look("folding")
	b.keys(keyEscape, keyEnter)
	shown("closed by Enter", 203)
	b.eval(`viewer.unfold(true);`, nil)
	shown("all opened", 1203)
	b.eval(`viewer.unfold(false);
		viewer.setSteps([{ node: "_matmul_77", how: "cpu gemm: f32_gemm", ms: 2 }, { node: "nowhere", how: "", ms: 6 }]);
		viewer.search.value = "_matmul_77";
		viewer.search.dispatchEvent(new Event("input"));`, nil)
	shown("found", 208)
	text := b.wait(`viewer.details.textContent`)
	for _, want := range []string{"_matmul_77", "2.00 ms (25.0 %)", "f32_gemm", "float32[16,16]", "deviation", "mean"} {
		if !strings.Contains(text, want) {
			t.Errorf("the details have no %q: %s", want, text)
		}
	}
	if bars := b.wait(`viewer.details.querySelectorAll(".histogram .bars div").length`); bars != "32" {
		t.Errorf("the histogram has %s bars", bars)
	}
	b.look("histogram")
}

// TestLargePicture draws 10,000 nodes, all groups open. A frame is drawn soon, and only of what is in
// view.
func TestLargePicture(t *testing.T) {
	b, s := openBrowser(t), openSite(t)
	_, s.models["large.onnx"] = saved(t, "large.onnx", network(t, 10_000, 16))
	b.openViewer(s, "large.onnx")
	var got struct {
		Took, Open, All, Near float64 // milliseconds
		Boxes, Drawn          int
	}
	b.eval(`const time = (act) => { const start = performance.now(); act(); return performance.now() - start; };
		const frames = (n) => { const list = []; for (let i = 0; i < n; i++) list.push(time(() => viewer.draw())); return list.sort((a, b) => a - b)[n >> 1]; };
		const Open = time(() => viewer.unfold(true));
		viewer.fit();
		viewer.zoom(viewer.height / viewer.scene.height / viewer.scale);
		const All = frames(9);
		viewer.zoom(1 / viewer.scale);
		const Near = frames(9);
		return { Took: viewer.took, Open, All, Near, Boxes: viewer.scene.boxes.length, Drawn: viewer.drawn };`, &got)
	t.Logf("%+v", got)
	if got.Boxes < 10_000 || got.Drawn > 200 {
		t.Errorf("%d boxes, of which %d are drawn", got.Boxes, got.Drawn)
	}
	// A busy machine takes several times as long as a free one.
	if got.Took > 30_000 || got.Open > 3000 || got.All > 500 || got.Near > 100 {
		t.Errorf("drawing takes too long: %+v", got)
	}
	b.look("large")
}
