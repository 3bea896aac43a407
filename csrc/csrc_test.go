package csrc_test

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/csrc"
)

// families returns the folders of kernels.
func families(t *testing.T) []string {
	t.Helper()
	rows, err := filepath.Glob("*/kernels.inc")
	if err != nil || len(rows) == 0 {
		t.Fatalf("no families: %v", err)
	}
	for i, file := range rows {
		rows[i] = filepath.Dir(file)
	}
	return rows
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestFamilies checks that every family is a package like the first one, and that the program has
// it.
func TestFamilies(t *testing.T) {
	list := families(t)
	program := string(read(t, "../bindings/internal/families/families.go"))
	name := regexp.MustCompile(`\b(nacre_|/)?` + list[0] + `(_kernels)?\b`)
	for _, family := range list {
		if !strings.Contains(program, `/csrc/`+family+`"`) {
			t.Errorf("package families lacks %s", family)
		}
		want := name.ReplaceAllString(string(read(t, list[0]+"/"+list[0]+".go")), "${1}"+family+"${2}")
		if got := string(read(t, family+"/"+family+".go")); got != want {
			t.Errorf("%s/%s.go differs from %s/%s.go in more than the name", family, family, list[0], list[0])
		}
	}
}

// TestCore checks that package bindings compiles every C file of core.
func TestCore(t *testing.T) {
	files, err := filepath.Glob("core/*.c")
	if err != nil || len(files) == 0 {
		t.Fatalf("no C files: %v", err)
	}
	unit := read(t, "../bindings/csrc_core.c")
	if got := len(includes(unit)); got != len(files) {
		t.Errorf("bindings/csrc_core.c includes %d files; core has %d", got, len(files))
	}
	for _, file := range files {
		if n := bytes.Count(unit, []byte(`"`+filepath.ToSlash(file)+`"`)); n != 1 {
			t.Errorf("bindings/csrc_core.c includes %s %d times", file, n)
		}
	}
}

// TestShared checks that Sources has all files that packages include from other folders: the go
// command would not see an edit of a file missing there.
func TestShared(t *testing.T) {
	shared := map[string]bool{}
	use := func(user, folder string, from []byte) {
		seen := map[string]bool{}
		for next := includes(from); len(next) > 0; {
			file := next[0]
			next = next[1:]
			if seen[file] {
				continue
			}
			seen[file] = true
			next = append(next, includes(read(t, file))...)
			if path.Dir(file) == folder {
				continue
			}
			shared[file] = true
			if _, err := fs.Stat(csrc.Sources, file); err != nil {
				t.Errorf("%s includes %s, which Sources lacks", user, file)
			}
		}
	}
	for _, family := range families(t) {
		files, _ := filepath.Glob(family + "/*.[chi]*")
		for _, file := range files {
			use(file, family, read(t, file))
		}
	}
	users, _ := filepath.Glob("../bindings/*.[cg]*")
	for _, file := range users {
		use(file, "", read(t, file))
	}
	err := fs.WalkDir(csrc.Sources, ".", func(file string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !shared[file] {
			t.Errorf("Sources has %s, which only its own package includes", file)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

var include = regexp.MustCompile(`(?m)^(?://)?\s*#(?:include|define NACRE_BODY) "([a-z0-9_]+/[a-z0-9_.]+)"`)

// includes returns the files of csrc that C code includes. They include the bodies for
// core/each_level.h, and the vectors of every level, which are included by the level's name.
func includes(code []byte) []string {
	var list []string
	if bytes.Contains(code, []byte("#include NACRE_LEVEL_HEADER")) {
		list, _ = filepath.Glob("core/vec_*.h")
	}
	for _, m := range include.FindAllSubmatch(code, -1) {
		list = append(list, string(m[1]))
	}
	return list
}
