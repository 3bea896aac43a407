package diagram

import (
	_ "embed"
	"encoding/json"
	"html/template"
	"io"
)

// The parts of a page with a diagram.
var (
	//go:embed viewer.js
	viewer string
	//go:embed viewer.css
	style string
	//go:embed colours.css
	colours string
)

// page is a page that needs no other file. Its script tells what the viewer draws.
var page = template.Must(template.New("page").Parse(`<!doctype html>
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

// WriteHTML writes a page of one file that shows a drawing.
func WriteHTML(w io.Writer, title string, d *Drawing) error {
	data, err := json.Marshal(d) // without <, > and &
	if err != nil {
		return err
	}
	const begin = `
new Viewer(document.getElementById("graph"), JSON.parse(document.getElementById("drawing").textContent));
`
	return page.Execute(w, map[string]any{
		"Title": shown(title, 200), "Colours": template.CSS(colours), "Style": template.CSS(style),
		"Drawing": template.JS(data), "Script": template.JS(viewer + begin),
	})
}
