package web_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/nacre-ml/nacre/internal/testenv"
)

// patience is how long a test waits for anything: machines may be slow.
const patience = 10 * time.Minute

// browser is a Chromium without a window that a chromedriver moves, as the WebDriver standard says.
type browser struct {
	t       *testing.T
	session string // the URL of the session
}

// openBrowser starts a browser, which ends with the test.
func openBrowser(t *testing.T) *browser {
	t.Helper()
	for _, program := range []string{"chromedriver", "chromium"} {
		if _, err := exec.LookPath(program); err != nil {
			testenv.Skip(t, err, " (scripts/setup-test.sh installs it)")
		}
	}
	// The browser may write to its folder while it ends, so that t.TempDir would fail.
	profile, err := os.MkdirTemp("", "nacre-browser-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(profile) }) // what is left is in the system's temporary folder
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	driver := exec.CommandContext(ctx, "chromedriver", "--port=0")
	driver.Env = append(os.Environ(), "HOME="+profile)
	out, err := driver.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := driver.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = driver.Wait() // it was killed
	})
	started := regexp.MustCompile(`started successfully on port (\d+)`)
	lines, port := bufio.NewScanner(out), ""
	for port == "" && lines.Scan() {
		if m := started.FindStringSubmatch(lines.Text()); m != nil {
			port = m[1]
		}
	}
	if port == "" {
		t.Fatal("chromedriver did not start")
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	b := &browser{t, "http://127.0.0.1:" + port + "/session"}
	options := map[string]any{"args": []string{
		"--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--mute-audio",
		"--window-size=1280,900", "--user-data-dir=" + filepath.Join(profile, "data"),
	}}
	var made struct {
		SessionID string `json:"sessionId"`
	}
	b.post("", map[string]any{"capabilities": map[string]any{"alwaysMatch": map[string]any{
		"browserName": "chrome", "goog:chromeOptions": options,
		"timeouts": map[string]any{"script": patience.Milliseconds(), "pageLoad": patience.Milliseconds()},
	}}}, &made)
	b.session += "/" + made.SessionID
	t.Cleanup(func() {
		if err := b.send(http.MethodDelete, "", map[string]any{}, nil); err != nil {
			t.Error("the browser does not end: ", err)
		}
	})
	return b
}

// post sends a command, and reads its value.
func (b *browser) post(path string, body, value any) {
	b.t.Helper()
	if err := b.send(http.MethodPost, path, body, value); err != nil {
		b.t.Fatal(err)
	}
}

func (b *browser) send(method, path string, body, value any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequest(method, b.session+path, bytes.NewReader(data))
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer := struct{ Value json.RawMessage }{}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", path, answer.Value)
	}
	if value == nil {
		return nil
	}
	return json.Unmarshal(answer.Value, value)
}

// open loads an address, and waits until the page's program runs.
func (b *browser) open(url string) {
	b.t.Helper()
	b.post("/url", map[string]any{"url": url}, nil)
	b.wait(`document.documentElement.dataset.ready`)
}

// wait waits until an expression of the page is true, and returns its value as text.
func (b *browser) wait(expression string) (value string) {
	b.t.Helper()
	b.eval(`for (;;) {
		const value = `+expression+`;
		if (value) return String(value);
		await new Promise((next) => setTimeout(next, 50));
	}`, &value)
	return value
}

// eval runs statements of an asynchronous function in the page, and reads what they return.
func (b *browser) eval(statements string, value any) {
	b.t.Helper()
	var answer struct {
		Error string
		Value json.RawMessage
	}
	b.post("/execute/async", map[string]any{"args": []any{}, "script": `
		const done = arguments[arguments.length - 1];
		(async () => { ` + statements + ` })().then((Value) => done({ Value: Value ?? null }), (e) => done({ Error: String(e.stack || e) }));`},
		&answer)
	if answer.Error != "" {
		b.t.Fatalf("%s\n%s", statements, answer.Error)
	}
	if value == nil {
		return
	}
	if err := json.Unmarshal(answer.Value, value); err != nil {
		b.t.Fatalf("%s: %v: %s", statements, err, answer.Value)
	}
}

// element returns the address of the element with an id.
func (b *browser) element(id string) string {
	b.t.Helper()
	var found map[string]string
	b.post("/element", map[string]any{"using": "css selector", "value": "#" + id}, &found)
	for _, e := range found {
		return "/element/" + e
	}
	return ""
}

// click presses the element with an id, as a user does.
func (b *browser) click(id string) {
	b.t.Helper()
	b.post(b.element(id)+"/click", map[string]any{}, nil)
}

// write types text, or, where the element takes files, their paths.
func (b *browser) write(id, text string) {
	b.t.Helper()
	b.post(b.element(id)+"/value", map[string]any{"text": text}, nil)
}

// drop drops a file or a folder on the element with an id.
func (b *browser) drop(id, path string) {
	b.t.Helper()
	var at struct{ X, Y float64 }
	b.eval(`const { x, y } = document.getElementById("`+id+`").getBoundingClientRect(); return { X: x + 8, Y: y + 8 };`, &at)
	for _, kind := range []string{"dragEnter", "dragOver", "drop"} {
		b.devtools("Input.dispatchDragEvent", map[string]any{"type": kind, "x": at.X, "y": at.Y, "data": map[string]any{
			"items": []any{}, "files": []string{path}, "dragOperationsMask": 1}}, nil)
	}
}

// devtools sends a command of Chromium's own protocol.
func (b *browser) devtools(command string, parameters map[string]any, value any) {
	b.t.Helper()
	b.post("/goog/cdp/execute", map[string]any{"cmd": command, "params": parameters}, value)
}

// looks are the ways to look at the page.
var looks = []struct {
	name       string
	wide, high int
	phone      bool
	scheme     string
}{
	{"desktop", 1280, 900, false, "light"}, {"dark", 1280, 900, false, "dark"}, {"phone", 390, 844, true, "light"},
}

// look takes pictures of the page in build/screenshots, and checks that nothing is wider than the page.
func (b *browser) look(name string) {
	b.t.Helper()
	folder := filepath.Join(testenv.Root(b.t), "build", "screenshots")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		b.t.Fatal(err)
	}
	for _, l := range looks {
		b.devtools("Emulation.setDeviceMetricsOverride", map[string]any{"width": l.wide, "height": l.high,
			"deviceScaleFactor": 1, "mobile": l.phone}, nil)
		b.devtools("Emulation.setEmulatedMedia", map[string]any{"features": []any{
			map[string]any{"name": "prefers-color-scheme", "value": l.scheme}}}, nil)
		var wide int
		b.eval(`await new Promise((next) => setTimeout(next, 400));
			scrollTo(0, 0);
			return document.documentElement.scrollWidth;`, &wide)
		if wide > l.wide {
			b.t.Errorf("%s: the page is %d pixels wide in a window of %d", l.name, wide, l.wide)
		}
		var shot struct{ Data string }
		b.devtools("Page.captureScreenshot", map[string]any{"captureBeyondViewport": true}, &shot)
		data, err := base64.StdEncoding.DecodeString(shot.Data)
		if err != nil {
			b.t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name+"-"+l.name+".png"), data, 0o644); err != nil {
			b.t.Fatal(err)
		}
	}
	b.devtools("Emulation.clearDeviceMetricsOverride", map[string]any{}, nil)
	b.devtools("Emulation.setEmulatedMedia", map[string]any{"features": []any{}}, nil)
}
