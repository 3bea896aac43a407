//go:build web

package web

import (
	"embed"
	"io/fs"
)

//go:embed built
var built embed.FS

// Built returns the files of the page that the program carries.
func Built() (fs.FS, bool) {
	files, err := fs.Sub(built, "built")
	return files, err == nil
}
