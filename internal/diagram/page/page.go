// Package page makes pages of diagrams.
package page

import (
	"encoding/json"
	"html/template"
	"io"

	"github.com/nacre-ml/nacre/internal/diagram"
)

// layout is a page that needs no other file. Its script tells what the viewer draws.
var layout = template.Must(template.New("page").Parse(`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{.Title}}</title>
<style>{{.Colours}}{{.Style}}
html, body { height: 100%; margin: 0; background: var(--paper); font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
body { display: grid; padding: 8px; box-sizing: border-box; }
button, input { font: inherit; color: var(--ink); background: var(--face); border: 1px solid var(--line); border-radius: 8px; cursor: pointer; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
[hidden] { display: none !important; }
</style>
<main id="graph"></main>
<script type="application/json" id="drawing">{{.Drawing}}</script>
<script type="module">{{.Script}}</script>
</html>
`))

// Write writes a page of one file that shows a drawing.
func Write(w io.Writer, title string, d *diagram.Drawing) error {
	data, err := json.Marshal(d) // without <, > and &
	if err != nil {
		return err
	}
	const begin = `
globalThis.viewer = new Viewer(document.getElementById("graph"), JSON.parse(document.getElementById("drawing").textContent));
`
	return layout.Execute(w, map[string]any{
		"Title": title, "Colours": template.CSS(diagram.Colours), "Style": template.CSS(diagram.Style),
		"Drawing": template.JS(data), "Script": template.JS(diagram.Viewer + begin),
	})
}
