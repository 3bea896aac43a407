package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/internal/testenv"
)

// shownPages returns the pages of the project. The changelog is left out: it names what is gone.
func shownPages(t *testing.T) []string {
	root := testenv.Root(t)
	pages := testenv.Files(t, root, "*.md")
	pages = append(pages, testenv.Files(t, root, "*", "README.md")...)
	return slices.DeleteFunc(pages, func(page string) bool { return filepath.Base(page) == "CHANGELOG.md" })
}

var (
	shownSpan  = regexp.MustCompile("`((?:\\./)?nacre [a-z][^`]*)`")
	shownLine  = regexp.MustCompile(`(?m)^ {4,}(?:\$ )?((?:\./)?nacre [a-z].*)$`)
	shownWord  = regexp.MustCompile(`"([^"]*)"|'([^']*)'|(\S+)`)
	shownBlock = regexp.MustCompile("(?s)```go\n(.*?)```")
	shownMake  = regexp.MustCompile("(?m)(?:^ {4,}|`)make ([a-z-]+)")
	shownFile  = regexp.MustCompile("(?m)(?:^ {4,}|`)(?:bash |go run \\./)?((?:scripts|bench|oracles|examples)/[\\w./-]+)")
)

// TestShownCommands checks that every command that a page shows has the flags that it is shown with.
func TestShownCommands(t *testing.T) {
	seen := 0
	for _, page := range shownPages(t) {
		text := string(read(t, page))
		for _, m := range append(shownSpan.FindAllStringSubmatch(text, -1), shownLine.FindAllStringSubmatch(text, -1)...) {
			args := shownArgs(m[1])
			if len(args) == 0 {
				continue
			}
			seen++
			if code, _, stderr := call(append(args, "--help")...); code != exitDone {
				t.Errorf("%s shows %q: %s", filepath.Base(page), m[1], stderr)
			}
		}
	}
	if seen < 40 {
		t.Errorf("the pages show %d commands; the patterns miss some", seen)
	}
}

// shownArgs returns the arguments of a line, up to a comment or to what the shell does.
func shownArgs(line string) (args []string) {
	for _, m := range shownWord.FindAllStringSubmatch(line, -1)[1:] {
		switch word := m[0]; {
		case strings.ContainsAny(word[:1], "#|<>&;"):
			return args
		case word == "N": // a number
			args = append(args, "1")
		default:
			args = append(args, m[1]+m[2]+m[3])
		}
	}
	return args
}

// TestShownPrograms checks that code of pages parses, and that it uses what packages export.
func TestShownPrograms(t *testing.T) {
	exported := map[string]bool{}
	for line := range strings.Lines(string(read(t, filepath.Join(testenv.Root(t), "testdata", "api.txt")))) {
		folder, what, _ := strings.Cut(line, ": ")
		words := regexp.MustCompile(`^(?:func|type|const|var) (\w+)`).FindStringSubmatch(what)
		if folder == "." {
			folder = "nacre"
		}
		if words != nil {
			exported[path.Base(folder)+"."+words[1]] = true
		}
		exported[path.Base(folder)] = true
	}
	seen := 0
	for _, page := range shownPages(t) {
		for _, m := range shownBlock.FindAllStringSubmatch(string(read(t, page)), -1) {
			file, err := shownCode(m[1])
			if err != nil {
				t.Errorf("%s: %v in\n%s", filepath.Base(page), err, m[1])
				continue
			}
			seen++
			ast.Inspect(file, func(n ast.Node) bool {
				if s, ok := n.(*ast.SelectorExpr); ok {
					if x, ok := s.X.(*ast.Ident); ok && x.Obj == nil && exported[x.Name] && !exported[x.Name+"."+s.Sel.Name] {
						t.Errorf("%s uses %s.%s, which is not exported", filepath.Base(page), x.Name, s.Sel.Name)
					}
				}
				return true
			})
		}
	}
	if seen < 8 {
		t.Errorf("the pages show %d pieces of code; the pattern misses some", seen)
	}
}

// shownCode parses a file, declarations, statements, declarations before statements, or elements of a
// list.
func shownCode(code string) (file *ast.File, err error) {
	for _, around := range [][2]string{{"", ""}, {"package p\n", ""}, {"package p\nfunc f() {\n", "\n}"}, {"package p\nvar v = T{\n", "\n}"}} {
		if file, err = parser.ParseFile(token.NewFileSet(), "", around[0]+code+around[1], 0); err == nil {
			return file, nil
		}
	}
	for at := strings.LastIndex(code, "\n\n"); at >= 0; at = strings.LastIndex(code[:at], "\n\n") {
		if file, err = parser.ParseFile(token.NewFileSet(), "", "package p\n"+code[:at]+"\nfunc f() {"+code[at:]+"\n}", 0); err == nil {
			return file, nil
		}
	}
	return nil, err
}

// TestShownFiles checks that targets of make and files that pages name exist.
func TestShownFiles(t *testing.T) {
	root := testenv.Root(t)
	targets := string(read(t, filepath.Join(root, "Makefile")))
	for _, page := range shownPages(t) {
		text := string(read(t, page))
		for _, m := range shownMake.FindAllStringSubmatch(text, -1) {
			if !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(m[1]) + `:`).MatchString(targets) {
				t.Errorf("%s shows make %s, which the Makefile lacks", filepath.Base(page), m[1])
			}
		}
		for _, m := range shownFile.FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join(root, strings.TrimRight(m[1], "."))); err != nil {
				t.Errorf("%s names %v", filepath.Base(page), err)
			}
		}
	}
}
