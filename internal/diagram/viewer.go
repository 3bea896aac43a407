package diagram

import _ "embed" // the viewer

// Parts of the viewer's script. The script is the parts one after the other, as scripts/web.sh joins
// them.
var (
	//go:embed viewer/arrange.js
	arrange string
	//go:embed viewer/paint.js
	paint string
	//go:embed viewer/details.js
	details string
	//go:embed viewer/viewer.js
	viewer string
)

// Viewer is a script with a class Viewer.
var Viewer = arrange + paint + details + viewer

// The viewer's styles, and the colours of pages.
var (
	//go:embed viewer/viewer.css
	Style string
	//go:embed viewer/colours.css
	Colours string
)
