package testenv

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// reasons are names allowed in the condition of a skip without this package: a short run, a
// complete run, the turn of a case, the race detector, or another system, processor or device.
var reasons = map[string]bool{"Short": true, "Complete": true, "Turn": true, "GOOS": true, "GOARCH": true, "CoopMatrix": true, "isRandom": true, "raceDetector": true}

// TestNoQuietSkips reads all tests of the module. A test that lacks data or a tool must call Skip,
// which fails in a complete run.
func TestNoQuietSkips(t *testing.T) {
	root := Root(t)
	skips := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "build"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go"), filepath.Dir(path) == filepath.Join(root, "internal", "testenv"):
			return nil
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, 0)
		if err != nil {
			return err
		}
		for _, pos := range quiet(file, &skips) {
			t.Errorf("%s: a test that lacks something calls testenv.Skip, which a complete run fails", set.Position(pos))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if skips == 0 {
		t.Error("no skip was found in any test")
	}
}

// quiet returns the skips of a file that have none of the reasons. It adds all skips to the count.
func quiet(file *ast.File, skips *int) []token.Pos {
	var list []token.Pos
	var stack []ast.Node
	ast.Inspect(file, func(n ast.Node) bool {
		if n == nil {
			stack = stack[:len(stack)-1]
			return true
		}
		stack = append(stack, n)
		if call, ok := n.(*ast.CallExpr); ok && isSkip(call) {
			*skips++
			if !reasoned(stack) {
				list = append(list, n.Pos())
			}
		}
		return true
	})
	return list
}

// isSkip reports whether a call is one of a method of testing.TB that skips.
func isSkip(call *ast.CallExpr) bool {
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	of, ok := f.X.(*ast.Ident)
	return ok && of.Name != "testenv" && (f.Sel.Name == "Skip" || f.Sel.Name == "Skipf" || f.Sel.Name == "SkipNow")
}

// reasoned reports whether an if statement around the innermost node names a reason.
func reasoned(stack []ast.Node) bool {
	found := false
	for _, n := range stack {
		if s, ok := n.(*ast.IfStmt); ok {
			ast.Inspect(s.Cond, func(n ast.Node) bool {
				id, ok := n.(*ast.Ident)
				found = found || ok && reasons[id.Name]
				return true
			})
		}
	}
	return found
}
