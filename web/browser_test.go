package web_test

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/web"
)

// site is a server of the page and of models, which it counts.
type site struct {
	*httptest.Server
	models  map[string][]byte
	fetched atomic.Int64
	worker  string       // put before the worker
	page    http.Handler // of the other files
}

// openSite serves the page that scripts/web.sh made.
func openSite(t *testing.T) *site {
	t.Helper()
	folder := filepath.Join(testenv.Root(t), "build", "web")
	if _, err := os.Stat(filepath.Join(folder, "nacre.wasm")); err != nil {
		testenv.Skip(t, err, " (scripts/web.sh makes the page)")
	}
	s := &site{models: map[string][]byte{}, page: web.Handler(os.DirFS(folder), nil)}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/models/")
		switch data, ok := s.models[name]; {
		case name == "huge.onnx":
			w.Header().Set("Content-Length", "5000000000")
		case name == "broken-off.onnx":
			s.fetched.Add(1)
			w.Header().Set("Content-Length", fmt.Sprint(len(data)))
			_, _ = w.Write(data[:len(data)/2]) // the connection is closed below
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		case ok:
			s.fetched.Add(1)
			w.Header().Set("Content-Length", fmt.Sprint(len(data)))
			_, _ = w.Write(data) // a client that is gone
		case r.URL.Path == "/worker.js" && s.worker != "":
			script, err := os.ReadFile(filepath.Join(folder, "worker.js"))
			if err != nil {
				t.Error(err)
			}
			w.Header().Set("Content-Type", "text/javascript")
			w.Header().Set("Cross-Origin-Embedder-Policy", "require-corp")
			_, _ = fmt.Fprint(w, s.worker, string(script))
		default:
			s.page.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// TestInspector draws a model of a thousand nodes, runs it, and takes pictures of the page.
func TestInspector(t *testing.T) {
	b, s := openBrowser(t), openSite(t)
	path, data := saved(t, "thousand.onnx", network(t, 1000, 16))
	s.models["thousand.onnx"] = data
	b.open(s.URL + "/#inspect")
	b.look("inspect-empty")
	b.write("model-files", path)
	b.wait(`document.querySelector("#model:not([hidden]) #graph canvas")`)
	if fact := b.wait(`document.querySelector("#model-fact").textContent`); !strings.Contains(fact, "1,000 nodes") {
		t.Errorf("the page says %q", fact)
	}
	b.eval(`document.querySelector(".viewer input[type=search]").value = "MatMul_77";
		document.querySelector(".viewer input[type=search]").dispatchEvent(new Event("input"));`, nil)
	b.write("run-inputs [type=number]", "4")
	b.click("run")
	b.wait(`document.querySelector("#operators") || document.querySelector("#inspect-problem:not([hidden])")`)
	b.look("inspect")
	rows := b.wait(`[...document.querySelectorAll("#operators tbody tr")].map((r) => r.textContent).join(" ")`)
	for _, op := range []string{"MatMul", "Tanh"} {
		if !strings.Contains(rows, op) {
			t.Errorf("the times have no %s: %s", op, rows)
		}
	}
}

// TestRuns compares runs in the browser with runs here, through the wrapper that programs use.
func TestRuns(t *testing.T) {
	b, s := openBrowser(t), openSite(t)
	_, s.models["net.onnx"] = saved(t, "net.onnx", network(t, 20, 8))
	x := make([]float32, 24)
	for i := range x {
		x[i] = float32(i)/12 - 1
	}
	m, err := nacre.Decode("net.onnx", s.models["net.onnx"])
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	native, err := m.NewSession(nacre.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer native.Close()
	in, err := nacre.NewTensor(x, 3, 8)
	if err != nil {
		t.Fatal(err)
	}
	out, err := native.Run(context.Background(), map[string]*nacre.Tensor{"x": in})
	if err != nil {
		t.Fatal(err)
	}
	want, err := nacre.Float32s(out["y"])
	if err != nil {
		t.Fatal(err)
	}
	b.open(s.URL)
	var got struct {
		Type     string
		Dims     []int
		Data     []float32
		Stages   []string
		Wrong    string
		Released string
	}
	b.eval(`const { load } = await import("./nacre.js");
		const stages = new Set(), messages = [];
		const session = await load("models/net.onnx", { onProgress: (p) => stages.add(p.stage) });
		const { y } = (await session.run({ x: { dims: [3, 8], data: `+strings.ReplaceAll(fmt.Sprint(x), " ", ",")+` } })).outputs;
		for (const inputs of [{ z: { data: [1] } }, { x: { dims: [3, 8], data: new Int32Array(24) } }, {}, { x: 1 }]) {
			await session.run(inputs).catch((e) => messages.push(e.kind + ": " + e.message));
		}
		await session.free();
		const released = await session.run({}).catch((e) => e.message);
		return { Type: y.type, Dims: y.dims, Data: [...y.data], Stages: [...stages], Wrong: messages.join("\n"), Released: released };`, &got)
	if got.Type != "float32" || fmt.Sprint(got.Dims) != "[3 8]" || len(got.Data) != len(want) {
		t.Fatalf("the result is %s %v with %d elements", got.Type, got.Dims, len(got.Data))
	}
	for i := range want {
		if math.Abs(float64(got.Data[i]-want[i])) > 1e-5 {
			t.Errorf("element %d is %g, and %g here", i, got.Data[i], want[i])
		}
	}
	if fmt.Sprint(got.Stages) != "[load read]" || strings.Count(got.Wrong, "\n") != 3 || !strings.Contains(got.Wrong, "takes no input") ||
		!strings.Contains(got.Released, "was freed") {
		t.Errorf("stages %v; errors %s; after free: %s", got.Stages, got.Wrong, got.Released)
	}
}

// TestStop stops a model that computes for minutes, and the page still answers.
func TestStop(t *testing.T) {
	b, s := openBrowser(t), openSite(t)
	_, s.models["long.onnx"] = saved(t, "long.onnx", network(t, 10_000, 256))
	b.open(s.URL)
	var kind string
	b.eval(`const { load } = await import("./nacre.js");
		const session = await load("models/long.onnx");
		const control = new AbortController();
		setTimeout(() => control.abort(), 1000);
		const data = new Float32Array(4096 * 256);
		const kind = await session.run({ x: { dims: [4096, 256], data } }, { signal: control.signal }).then(() => "done", (e) => e.kind);
		await session.engine.memory();
		return kind;`, &kind)
	if kind != "stopped" {
		t.Errorf("the run ended as %s", kind)
	}
}

// TestCache loads a page again: the model comes from the browser, unless it broke off before.
func TestCache(t *testing.T) {
	b, s := openBrowser(t), openSite(t)
	_, data := saved(t, "net.onnx", network(t, 20, 8))
	s.models["net.onnx"], s.models["broken-off.onnx"] = data, data
	const load = `const { load } = await import("./nacre.js");
		const session = await load("models/NAME", { keep: true }).catch((e) => ({ problem: e.kind + ": " + e.message }));
		return session.problem ?? (session.cached ? "cached" : "fetched") + session.lost;`
	for _, c := range []struct {
		name, want string
		fetched    int64
	}{
		{"net.onnx", "fetched", 1}, {"net.onnx", "cached", 1}, {"broken-off.onnx", "network: ", 2}, {"broken-off.onnx", "network: ", 3},
		{"net.onnx", "cached", 3},
	} {
		b.open(s.URL)
		var got string
		b.eval(strings.ReplaceAll(load, "NAME", c.name), &got)
		if !strings.HasPrefix(got, c.want) || s.fetched.Load() != c.fetched {
			t.Errorf("%s: %s after %d requests, want %s after %d", c.name, got, s.fetched.Load(), c.want, c.fetched)
		}
	}
}

// TestProblems checks that what goes wrong is a sentence in the page.
func TestProblems(t *testing.T) {
	b, s := openBrowser(t), openSite(t)
	_, data := saved(t, "net.onnx", network(t, 20, 8))
	s.models["broken.onnx"], s.models["text.onnx"] = data[:len(data)/2], []byte("this is no model")
	s.models["broken-off.onnx"] = data
	for _, c := range []struct{ url, want string }{
		{s.URL + "/models/broken.onnx", "broken.onnx"},
		{s.URL + "/models/text.onnx", "text.onnx"},
		{s.URL + "/models/broken-off.onnx", "broke off"},
		{s.URL + "/models/huge.onnx", "MB left"},
		{s.URL + "/models/missing.onnx", "404 Not Found"},
		{"http://127.0.0.1:1/model.onnx", "cannot be reached"},
	} {
		b.open(s.URL + "/?" + c.want + "#inspect")
		b.write("model-url", c.url+"\n")
		problem := b.wait(`document.querySelector("#inspect-problem:not([hidden])")?.textContent`)
		if strings.Contains(problem, "panic") || !strings.Contains(problem, c.want) || !strings.HasSuffix(problem, ".") || len(problem) < 40 {
			t.Errorf("%s: %s", c.url, problem)
		}
	}
	b.look("problem")
}

// TestNoSIMD checks what a browser without vectors is told.
func TestNoSIMD(t *testing.T) {
	b, s := openBrowser(t), openSite(t)
	s.worker = "WebAssembly.validate = () => false;\n"
	b.post("/url", map[string]any{"url": s.URL}, nil)
	if problem := b.wait(`document.querySelector("#speak-problem:not([hidden])")?.textContent`); !strings.Contains(problem,
		"lacks WebAssembly SIMD") {
		t.Error(problem)
	}
}
