package nacre_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestComments checks that the comment of a function or a type begins with its name, and that every
// exported one has a comment. The comment of an example is text for its reader.
func TestComments(t *testing.T) {
	word := regexp.MustCompile(`\w+`)
	count := 0
	check := func(at token.Position, name string, doc *ast.CommentGroup, needed bool) {
		count++
		if doc == nil {
			if needed {
				t.Errorf("%v: %s has no comment", at, name)
			}
			return
		}
		words := word.FindAllString(doc.Text(), 2)
		if len(words) > 1 && slices.Contains([]string{"A", "An", "The"}, words[0]) {
			words = words[1:]
		}
		if len(words) > 0 && words[0] != name {
			t.Errorf("%v: the comment of %s begins with %q", at, name, words[0])
		}
	}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "build"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go"):
			return nil
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		isTest := strings.HasSuffix(path, "_test.go")
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if !isTest || !strings.HasPrefix(d.Name.Name, "Example") {
					check(fset.Position(d.Pos()), d.Name.Name, d.Doc, d.Recv == nil && d.Name.IsExported() && !isTest)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					s, ok := spec.(*ast.TypeSpec)
					if !ok {
						continue
					}
					doc := s.Doc
					if doc == nil && len(d.Specs) == 1 {
						doc = d.Doc
					}
					check(fset.Position(s.Pos()), s.Name.Name, doc, s.Name.IsExported() && !isTest)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if least := 10000; count < least {
		t.Errorf("%d declarations were found, fewer than %d", count, least)
	}
}
