package diagram

import _ "embed" // viewer.js and its styles

// The viewer: a script with a class Viewer, its styles, and the colours of pages.
var (
	//go:embed viewer.js
	Viewer string
	//go:embed viewer.css
	Style string
	//go:embed colours.css
	Colours string
)
