package bindings

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/csrc"
)

// TestSources checks that csrc_<family>.c includes every C file of its family,
// once, and nothing else: a file that is left out would not be in the program.
func TestSources(t *testing.T) {
	files, err := fs.Glob(csrc.Sources, "*/*.c")
	if err != nil || len(files) == 0 {
		t.Fatalf("no C files: %v", err)
	}
	lists := map[string]map[string]int{}
	for _, file := range files {
		family := path.Dir(file)
		if lists[family] == nil {
			lists[family] = includes(t, "csrc_"+family+".c")
		}
		if n := lists[family][file]; n != 1 {
			t.Errorf("csrc_%s.c includes %s %d times", family, file, n)
		}
		delete(lists[family], file)
	}
	for family, list := range lists {
		for file := range list {
			t.Errorf("csrc_%s.c includes %s, which is no C file of the family", family, file)
		}
	}
}

func includes(t *testing.T, file string) map[string]int {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Error(err)
	}
	list := map[string]int{}
	for line := range bytes.Lines(data) {
		if name, ok := strings.CutPrefix(string(bytes.TrimSpace(line)), "#include "); ok {
			list[strings.Trim(name, `"<>`)]++
		}
	}
	return list
}
