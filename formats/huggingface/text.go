package huggingface

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nacre-ml/nacre/runtime/graph"
)

// shown bounds the number of names in a message.
const shown = 20

// few lists names. Of many names, it lists the first.
func few(names []string) string {
	if len(names) <= shown {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
}

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func sorted(m map[string]*graph.Initializer) []string { return slices.Sorted(maps.Keys(m)) }
