package report

import (
	"os/exec"
	"strings"
)

// Commit returns the commit of the working tree, followed by "+" if files differ from it.
func Commit() string {
	id, err := exec.Command("git", "rev-parse", "--short", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	name := strings.TrimSpace(string(id))
	if changes, err := exec.Command("git", "status", "--porcelain", "--untracked-files=no").Output(); err != nil ||
		len(changes) > 0 {
		name += "+"
	}
	return name
}
