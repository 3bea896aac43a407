package web_test

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/internal/diagram"
	"github.com/nacre-ml/nacre/internal/diagram/page"
)

// file opens a page of one file without a server.
func (b *browser) file(name string, data []byte) {
	b.t.Helper()
	path := filepath.Join(b.t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o644); err != nil {
		b.t.Fatal(err)
	}
	b.post("/url", map[string]any{"url": (&url.URL{Scheme: "file", Path: path}).String()}, nil)
	b.wait(`document.querySelector("#graph canvas")`)
}

// TestProfilePage sorts and searches the steps of a profile, opens a layer, and goes along the time
// line. The page is a file, and fetches nothing.
func TestProfilePage(t *testing.T) {
	b := openBrowser(t)
	d, err := diagram.Draw(context.Background(), network(t, 100, 8))
	if err != nil {
		t.Fatal(err)
	}
	p := &page.Profile{Facts: []string{"median of 3 runs"}}
	for k := range 400 { // step k takes k % 7 + 1 milliseconds
		ms, n := float64(k%7+1), len(p.Steps)
		step := page.ProfileStep{Node: fmt.Sprintf("_matmul_%d", k/4+1), Op: []string{"MatMul-17", "Relu-17"}[k%2], How: "cpu gemm: f32_gemm",
			Inputs: "float32[4,8]", Layer: []string{fmt.Sprintf("block %d", k/100), fmt.Sprintf("inner %d", k/10)}, Time: ms, Own: ms}
		if n > 0 {
			step.Start = p.Steps[n-1].Start + p.Steps[n-1].Time
		}
		p.Steps = append(p.Steps, step)
	}
	var html bytes.Buffer
	if err := page.WriteProfile(&html, "blocks.onnx", p, d); err != nil {
		t.Fatal(err)
	}
	b.file("profile.html", html.Bytes())
	is := func(step, expression, want string) {
		t.Helper()
		if got := b.wait(`"=" + (` + expression + `)`); got != "="+want {
			t.Errorf("%s: %s, want %s", step, got[1:], want)
		}
	}
	const rows = `document.querySelectorAll("#steps tbody tr")`
	is("rows at first", rows+`.length`, "300")
	b.click("more")
	is("all rows", rows+`.length`, "400")
	is("operators", `document.querySelectorAll("#operators tbody tr").length`, "2")
	is("layers", `document.querySelectorAll("#layers tbody tr").length`, "4")
	b.eval(`document.querySelector("#layers button").click();
		document.querySelectorAll("#steps th button")[1].click();`, nil)
	is("layers after one is open", `document.querySelectorAll("#layers tbody tr").length`, "14")
	is("the longest step", rows+`[0].cells[1].textContent`, "7.00 ms")
	is("the order", `document.querySelector("#steps th[aria-sort]").ariaSort`, "descending")
	b.write("filter", "inner 3")
	is("found", rows+`.length`, "110") // inner 3 and 30 to 39
	b.eval(`document.querySelector("#steps tbody tr").click();`, nil)
	is("the step", `document.querySelector("#steps tr.chosen").cells[0].textContent`, "35")
	if text := b.wait(`document.querySelector("#step").textContent`); !strings.HasPrefix(text, "35. MatMul-17 _matmul_9 ") {
		t.Errorf("the time line says %s", text)
	}
	is("the node", `document.querySelector("#graph .details h3").textContent`, "MatMul-17")
	b.eval(`document.querySelector("#timeline canvas").focus();`, nil)
	b.post("/actions", map[string]any{"actions": []any{map[string]any{"type": "key", "id": "keys", "actions": []any{
		map[string]any{"type": "keyDown", "value": "\uE014"}, map[string]any{"type": "keyUp", "value": "\uE014"}}}}}, nil)
	is("the step to the right", `document.querySelector("#step").textContent.split(".")[0]`, "36")
	is("what was fetched", `performance.getEntriesByType("resource").length`, "0")
	b.look("profile")
}

// TestPicturePage opens a page of inspect --html.
func TestPicturePage(t *testing.T) {
	b := openBrowser(t)
	d, err := diagram.Draw(context.Background(), network(t, 100, 8))
	if err != nil {
		t.Fatal(err)
	}
	d.Steps = []diagram.Step{{Node: "_matmul_1", Op: "MatMul-17", How: "cpu gemm: f32_gemm"}}
	var html bytes.Buffer
	if err := page.Write(&html, "blocks.onnx", d); err != nil {
		t.Fatal(err)
	}
	b.file("picture.html", html.Bytes())
	b.eval(`const search = document.querySelector("input[type=search]");
		search.value = "_matmul_1";
		search.dispatchEvent(new Event("input"));`, nil)
	if text := b.wait(`document.querySelector(".details").textContent`); !strings.Contains(text, "f32_gemm") {
		t.Errorf("the details are %s", text)
	}
	if n := b.wait(`String(performance.getEntriesByType("resource").length)`); n != "0" {
		t.Errorf("%s files were fetched", n)
	}
	b.look("picture")
}
