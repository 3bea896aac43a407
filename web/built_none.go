//go:build !web

package web

import "io/fs"

// Built returns the files of the page that the program carries: none, because it was built without the
// tag web.
func Built() (fs.FS, bool) { return nil, false }
