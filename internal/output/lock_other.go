//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package output

import "os"

// renameOpen reports whether a file may be renamed or removed while it is open.
const renameOpen = false

// hold marks a new file as being written by this process.
func hold(*os.File) bool { return true }

// stale reports whether no process writes the file. Here it returns false, since that is unknown.
func stale(string) bool { return false }
