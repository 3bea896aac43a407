package nacre_test

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write testdata/api.txt again")

// public lists the packages that programs import. Version 1 promises their exported identifiers.
// The other packages are the engine's.
var public = []string{
	".", "formats", "generate", "generate/tokenizer", "npy", "packed", "quantize", "runtime/graph", "runtime/op", "runtime/op/standard", "runtime/tensor", "runtime/vulkan",
	"speech", "speech/phonemes", "text",
}

// TestAPI compares the exported identifiers of the public packages with testdata/api.txt, so that
// no change goes unnoticed. CHANGELOG.md tells users of each.
func TestAPI(t *testing.T) {
	var lines []string
	for _, folder := range public {
		files, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil || files == nil {
			t.Fatalf("%s: %v", folder, err)
		}
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			fset := token.NewFileSet()
			file, err := parser.ParseFile(fset, path, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.FileExports(file)
			for _, d := range file.Decls {
				for _, line := range identifiers(t, fset, d) {
					lines = append(lines, folder+": "+line+"\n")
				}
			}
		}
	}
	slices.Sort(lines)
	lines = slices.Compact(lines) // files for several systems declare the same
	path := filepath.Join("testdata", "api.txt")
	got := strings.Join(lines, "")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := slices.Collect(strings.Lines(string(data)))
	for _, line := range lines {
		if !slices.Contains(want, line) {
			t.Errorf("new: %s", line)
		}
	}
	for _, line := range want {
		if !slices.Contains(lines, line) {
			t.Errorf("gone: %s", line)
		}
	}
	if t.Failed() {
		t.Error("if that is meant, say it in CHANGELOG.md, and write the list again: go test -run '^TestAPI$' -update .")
	}
}

// TestAudience checks that every public package says for whom it is, and packages beside them that
// they are no API.
func TestAudience(t *testing.T) {
	says := map[string]string{"bindings": "no API", "bindings/vulkan": "no API", "csrc": "no API", "runtime": "no API",
		"shaders": "no API"}
	for _, folder := range public[1:] {
		says[folder] = "The package is for"
	}
	for folder, want := range says {
		files, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil || files == nil {
			t.Fatalf("%s: %v", folder, err)
		}
		var doc string
		for _, path := range files {
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.PackageClauseOnly|parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			doc += file.Doc.Text()
		}
		if !strings.Contains(strings.Join(strings.Fields(doc), " "), want) {
			t.Errorf("the documentation of %s does not say %q", folder, want)
		}
	}
}

// TestAliases checks that the documentation of each type that is one of a package inside names its
// exported fields, which go doc does not show, and the command that shows them.
func TestAliases(t *testing.T) {
	const module = "github.com/nacre-ml/nacre/"
	checked := 0
	for _, folder := range public {
		for _, file := range parsed(t, folder) {
			imports := map[string]string{}
			for _, i := range file.Imports {
				name, _ := strconv.Unquote(i.Path.Value)
				imports[path.Base(name)] = name
			}
			for _, d := range file.Decls {
				g, ok := d.(*ast.GenDecl)
				if !ok || g.Tok != token.TYPE {
					continue
				}
				of := g.Specs[0].(*ast.TypeSpec)
				x, ok := of.Type.(*ast.SelectorExpr)
				if !ok || !of.Assign.IsValid() || !of.Name.IsExported() {
					continue
				}
				inside, ok := strings.CutPrefix(imports[x.X.(*ast.Ident).Name], module)
				if !ok {
					continue
				}
				checked++
				doc := strings.Join(strings.Fields(g.Doc.Text()), " ")
				for _, word := range append(fieldsOf(t, inside, x.Sel.Name), "go doc "+module+inside+"."+x.Sel.Name) {
					if !strings.Contains(doc, word) {
						t.Errorf("%s: the documentation of %s does not have %q", folder, of.Name, word)
					}
				}
			}
		}
	}
	if checked < 5 {
		t.Errorf("%d types", checked)
	}
}

// parsed returns the files of a package, without tests.
func parsed(t *testing.T, folder string) (list []*ast.File) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil || files == nil {
		t.Fatalf("%s: %v", folder, err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, file)
	}
	return list
}

// fieldsOf returns the exported fields of a type.
func fieldsOf(t *testing.T, folder, name string) (list []string) {
	t.Helper()
	found := false
	for _, file := range parsed(t, folder) {
		ast.Inspect(file, func(n ast.Node) bool {
			of, ok := n.(*ast.TypeSpec)
			if !ok || of.Name.Name != name {
				return true
			}
			found = true
			if fields, ok := of.Type.(*ast.StructType); ok {
				for _, f := range fields.Fields.List {
					for _, id := range f.Names {
						if id.IsExported() {
							list = append(list, id.Name)
						}
					}
				}
			}
			return false
		})
	}
	if !found {
		t.Errorf("%s has no type %s", folder, name)
	}
	return list
}

// identifiers returns the exported identifiers of a declaration, one a line.
func identifiers(t *testing.T, fset *token.FileSet, d ast.Decl) (lines []string) {
	t.Helper()
	text := func(node any) string {
		var b bytes.Buffer
		if err := printer.Fprint(&b, fset, node); err != nil {
			t.Fatal(err)
		}
		return strings.Join(strings.Fields(b.String()), " ")
	}
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && (d.Recv == nil || receiverIsExported(d.Recv.List[0].Type)) {
			d.Body = nil
			lines = append(lines, text(d))
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.ValueSpec:
				for _, name := range s.Names {
					if name.IsExported() {
						lines = append(lines, fmt.Sprintf("%s %s", d.Tok, name.Name))
					}
				}
			case *ast.TypeSpec:
				lines = append(lines, typeLines(s, text)...)
			}
		}
	}
	return lines
}

// typeLines returns a line for a type and one for each of its fields or methods.
func typeLines(s *ast.TypeSpec, text func(node any) string) (lines []string) {
	if !s.Name.IsExported() {
		return nil
	}
	members, word := (*ast.FieldList)(nil), ""
	switch kind := s.Type.(type) {
	case *ast.StructType:
		members, word = kind.Fields, "struct"
	case *ast.InterfaceType:
		members, word = kind.Methods, "interface"
	default:
		return []string{"type " + text(s)}
	}
	lines = append(lines, fmt.Sprintf("type %s %s", s.Name.Name, word))
	for _, field := range members.List {
		for _, name := range field.Names {
			if name.IsExported() {
				lines = append(lines, fmt.Sprintf("type %s %s: %s %s", s.Name.Name, word, name.Name, text(field.Type)))
			}
		}
		if len(field.Names) == 0 {
			lines = append(lines, fmt.Sprintf("type %s %s: %s", s.Name.Name, word, text(field.Type)))
		}
	}
	return lines
}

func receiverIsExported(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiverIsExported(e.X)
	case *ast.IndexExpr:
		return receiverIsExported(e.X)
	case *ast.Ident:
		return e.IsExported()
	}
	return false
}
