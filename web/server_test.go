package web_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/nacre-ml/nacre/web"
)

// packed returns compressed text.
func packed(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.WriteString(z, text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestHandler asks for files of a page, with and without compressed copies, and for others.
func TestHandler(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{
		"joe.onnx": "voice", "joe.onnx.json": "{}", "more/net.onnx": "model", "two/vocab.json": "{}", "two/net.onnx": "k",
		"two/voices/a.bin": "style", "two/notes.txt": "no", "two/more/x.json": "no", "secret.txt": "no", ".hidden/x.onnx": "no", "lonely.json": "{}",
	} {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	files := fstest.MapFS{
		"index.html": {Data: []byte("page")}, "a.js": {Data: []byte("plain")}, "a.js.gz": {Data: packed(t, "plain")},
		"only.wasm.gz": {Data: packed(t, "program")}, "folder/x.css": {Data: []byte("x")},
	}
	handler := web.Handler(files, root)
	for _, c := range []struct {
		method, path, encoding string
		status                 int
		kind, sent, body       string
	}{
		{"GET", "/", "", 200, "text/html; charset=utf-8", "", "page"},
		{"GET", "/a.js", "", 200, "text/javascript; charset=utf-8", "", "plain"},
		{"GET", "/a.js", "br;q=1, gzip", 200, "text/javascript; charset=utf-8", "gzip", "plain"},
		{"GET", "/a.js", "gzip;q=0", 200, "text/javascript; charset=utf-8", "", "plain"},
		{"GET", "/only.wasm", "gzip", 200, "application/wasm", "gzip", "program"},
		{"GET", "/only.wasm", "", 200, "application/wasm", "", "program"},
		{"HEAD", "/only.wasm", "", 200, "application/wasm", "", ""},
		{"GET", "/folder/x.css", "", 200, "text/css; charset=utf-8", "", "x"},
		{"GET", "/a.js.gz", "", 404, "", "", ""},
		{"GET", "/folder", "", 404, "", "", ""},
		{"GET", "/folder/", "", 404, "", "", ""},
		{"GET", "/none.js", "", 404, "", "", ""},
		{"POST", "/a.js", "", 405, "", "", ""},
		{"GET", "/served/joe.onnx", "gzip", 200, "application/octet-stream", "", "voice"},
		{"GET", "/served/more/net.onnx", "", 200, "application/octet-stream", "", "model"},
		{"GET", "/served/joe.onnx.json", "", 200, "application/json", "", "{}"},
		{"GET", "/served/two/net.onnx", "", 200, "application/octet-stream", "", "k"},
		{"GET", "/served/two/vocab.json", "", 200, "application/json", "", "{}"},
		{"GET", "/served/two/voices/a.bin", "", 200, "application/octet-stream", "", "style"},
		{"GET", "/served/two/notes.txt", "", 404, "", "", ""},
		{"GET", "/served/two/more/x.json", "", 404, "", "", ""},
		{"GET", "/served/secret.txt", "", 404, "", "", ""},
		{"GET", "/served/lonely.json", "", 404, "", "", ""},
		{"GET", "/served/more", "", 404, "", "", ""},
		{"GET", "/served/../server.go", "", 404, "", "", ""},
		{"GET", "/served.json", "", 200, "application/json", "", `{"voices":[{"name":"joe","url":"served/joe.onnx","bytes":5},` +
			`{"name":"two","url":"served/two/","bytes":8,"files":["net.onnx","vocab.json","voices/a.bin"]}],` +
			`"models":[{"name":"more/net","url":"served/more/net.onnx","bytes":5}]}` + "\n"},
	} {
		r := httptest.NewRequest(c.method, "http://localhost"+c.path, nil)
		r.Header.Set("Accept-Encoding", c.encoding)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		h := w.Header()
		if w.Code != c.status && !(c.status == 404 && w.Code == 307) { // a path that is not clean is sent elsewhere
			t.Errorf("%s %s: status %d, want %d", c.method, c.path, w.Code, c.status)
			continue
		}
		if h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: headers %v", c.path, h)
		}
		if c.status != 200 {
			continue
		}
		var body io.Reader = w.Body
		if h.Get("Content-Encoding") == "gzip" {
			if body, err = gzip.NewReader(w.Body); err != nil {
				t.Fatal(err)
			}
		}
		text, err := io.ReadAll(body)
		if err != nil || string(text) != c.body || h.Get("Content-Type") != c.kind || h.Get("Content-Encoding") != c.sent ||
			h.Get("Cache-Control") != "no-cache" {
			t.Errorf("%s %s: %q (%v), headers %v", c.method, c.path, text, err, h)
		}
	}
}

// TestOneVoice offers a folder that is a voice itself.
func TestOneVoice(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "one voice")
	for _, name := range []string{"onnx/speech_encoder.onnx", "onnx/speech_encoder.onnx_data", "tokenizer.json"} {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("file"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	w := httptest.NewRecorder()
	web.Handler(fstest.MapFS{}, root).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost/served.json", nil))
	const want = `{"voices":[{"name":"one voice","url":"served/","bytes":12,` +
		`"files":["onnx/speech_encoder.onnx","onnx/speech_encoder.onnx_data","tokenizer.json"]}],"models":[]}`
	if got := strings.TrimSpace(w.Body.String()); got != want {
		t.Errorf("the page is offered %s, want %s", got, want)
	}
}

// TestTags asks again for a file that has not changed, in both forms, and for one that has.
func TestTags(t *testing.T) {
	files := fstest.MapFS{"a.js": {Data: []byte("plain")}, "a.js.gz": {Data: packed(t, "plain")}}
	ask := func(encoding, tag string) (int, string) {
		r := httptest.NewRequest(http.MethodGet, "http://localhost/a.js", nil)
		r.Header.Set("Accept-Encoding", encoding)
		r.Header.Set("If-None-Match", tag)
		w := httptest.NewRecorder()
		web.Handler(files, nil).ServeHTTP(w, r)
		return w.Code, w.Header().Get("ETag")
	}
	_, plain := ask("", "")
	_, short := ask("gzip", "")
	if plain == short || !strings.HasPrefix(plain, `"`) {
		t.Errorf("tags %s and %s", plain, short)
	}
	if code, _ := ask("gzip", short); code != http.StatusNotModified {
		t.Errorf("the same file: status %d", code)
	}
	if code, _ := ask("", short); code != http.StatusOK {
		t.Errorf("another form: status %d", code)
	}
	files["a.js"] = &fstest.MapFile{Data: []byte("other")}
	if code, _ := ask("", plain); code != http.StatusOK {
		t.Errorf("another file: status %d", code)
	}
}
