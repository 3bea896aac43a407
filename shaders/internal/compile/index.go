package compile

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Entry is a module's entry in the index.
type Entry struct {
	Source string // hash of everything that it was made from
	Module string // hash of its bytes
	Tools  string // versions of the programs that made it
}

// ParseIndex reads lines of file, source hash, module hash and tools.
func ParseIndex(text string) (map[string]Entry, error) {
	all := map[string]Entry{}
	for line := range strings.Lines(text) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 4)
		if len(f) != 4 {
			return nil, fmt.Errorf("index: line %q has no four fields", line)
		}
		all[f[0]] = Entry{Source: f[1], Module: f[2], Tools: f[3]}
	}
	return all, nil
}

// FormatIndex returns the text of an index for ParseIndex, in the order of names.
func FormatIndex(all map[string]Entry) string {
	var b strings.Builder
	for _, file := range slices.Sorted(maps.Keys(all)) {
		e := all[file]
		fmt.Fprintf(&b, "%s %s %s %s\n", file, e.Source, e.Module, e.Tools)
	}
	return b.String()
}
