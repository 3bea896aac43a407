package nacre_test

import (
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/generate"
	"github.com/nacre-ml/nacre/generate/tokenizer"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/speech"
	"github.com/nacre-ml/nacre/text"
)

// guardedPackages lists the packages with exported functions that read files and run models.
func guardedPackages(t *testing.T) []string {
	list := []string{".", "formats", "generate", "generate/tokenizer", "npy", "quantize", "speech", "text"}
	for _, path := range testenv.Files(t, "formats", "*", "*.go") {
		list = append(list, filepath.ToSlash(filepath.Dir(path)))
	}
	return slices.Compact(list)
}

// unguarded maps exported functions that return errors without the guard to the reason.
var unguarded = map[string]string{
	".ParseDType":                           "looks a name up",
	".Data":                                 "looks at a tensor's type",
	".Float32s":                             "looks at a tensor's type",
	".NewTensor":                            "looks at the caller's extents",
	".Zeros":                                "looks at the caller's extents",
	".Strings":                              "looks at the caller's extents",
	".FromBytes":                            "looks at the caller's extents",
	".Tensor.Reshape":                       "looks at the caller's extents",
	".NewMemoryBudget":                      "looks at a number",
	".Options.Validate":                     "looks at the caller's options",
	".Files.Open":                           "is a file system of its caller",
	"formats.Intact":                        "asks the system for the size of files",
	"formats.Guard":                         "is the guard",
	"formats/hnw.Error.Unwrap":              "returns a field",
	"formats/gptrs.Kind.Unwrap":             "names a kind",
	"formats/openinfer.TextError.Unwrap":    "returns a field",
	"generate.Sampling.Validate":            "looks at the caller's options",
	"quantize.TypeOf":                       "looks a name up",
	"generate/tokenizer.Stream.Err":         "returns a field",
	"generate/tokenizer.Tokenizer.Warnings": "returns a field",
}

// TestDoors reads the exported functions that return errors. Each must defer the guard first, only
// call a function that does, or have a reason.
func TestDoors(t *testing.T) {
	met := map[string]bool{}
	doors := 0
	for _, folder := range guardedPackages(t) {
		list := exported(t, folder)
		behind := map[string]bool{}
		for name, f := range list {
			behind[name] = guards(f)
		}
		for name, f := range list {
			if !returnsErrors(f) {
				continue
			}
			doors++
			full := folder + "." + name
			if folder == "." {
				full = "." + name
			}
			if behind[name] || behind[delegate(f)] {
				continue
			}
			if met[full] = true; unguarded[full] == "" {
				t.Errorf("%s does not defer the guard, and is none of the exceptions", full)
			}
		}
	}
	for name := range unguarded {
		if !met[name] {
			t.Errorf("%s is an exception, and is guarded or gone", name)
		}
	}
	if doors < 100 {
		t.Errorf("%d functions were found", doors)
	}
}

// exported returns the exported functions of a package, and the exported methods of exported types
// as TYPE.METHOD.
func exported(t *testing.T, folder string) map[string]*ast.FuncDecl {
	list := map[string]*ast.FuncDecl{}
	for _, path := range testenv.Files(t, folder, "*.go") {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || !f.Name.IsExported() {
				continue
			}
			name := f.Name.Name
			if f.Recv != nil {
				receiver := f.Recv.List[0].Type
				if p, ok := receiver.(*ast.StarExpr); ok {
					receiver = p.X
				}
				id, ok := receiver.(*ast.Ident)
				if !ok || !id.IsExported() {
					continue
				}
				name = id.Name + "." + name
			}
			list[name] = f
		}
	}
	return list
}

// returnsErrors reports whether the last result is an error or a list of errors.
func returnsErrors(f *ast.FuncDecl) bool {
	if f.Type.Results == nil {
		return false
	}
	last := f.Type.Results.List[len(f.Type.Results.List)-1].Type
	if list, ok := last.(*ast.ArrayType); ok {
		last = list.Elt
	}
	id, ok := last.(*ast.Ident)
	return ok && id.Name == "error"
}

// guards reports whether the first statement of a function defers End, EndAll or end of the guard.
func guards(f *ast.FuncDecl) bool {
	if len(f.Body.List) == 0 {
		return false
	}
	d, ok := f.Body.List[0].(*ast.DeferStmt)
	if !ok {
		return false
	}
	end, ok := d.Call.Fun.(*ast.SelectorExpr)
	if !ok || !slices.Contains([]string{"End", "EndAll", "end"}, end.Sel.Name) {
		return false
	}
	begin, ok := end.X.(*ast.CallExpr)
	if !ok {
		return false
	}
	switch f := begin.Fun.(type) {
	case *ast.SelectorExpr:
		return f.Sel.Name == "At" || f.Sel.Name == "enter"
	case *ast.Ident:
		return f.Name == "enter"
	}
	return false
}

// delegate returns the function of the package that f only calls; "" for none.
func delegate(f *ast.FuncDecl) string {
	if len(f.Body.List) != 1 {
		return ""
	}
	r, ok := f.Body.List[0].(*ast.ReturnStmt)
	if !ok || len(r.Results) != 1 {
		return ""
	}
	call, ok := r.Results[0].(*ast.CallExpr)
	if !ok {
		return ""
	}
	switch to := call.Fun.(type) {
	case *ast.Ident:
		return to.Name
	case *ast.SelectorExpr:
		if f.Recv != nil && len(f.Recv.List[0].Names) == 1 {
			if id, ok := to.X.(*ast.Ident); ok && id.Name == f.Recv.List[0].Names[0].Name {
				p, _ := f.Recv.List[0].Type.(*ast.StarExpr)
				if p != nil {
					return p.X.(*ast.Ident).Name + "." + to.Sel.Name
				}
			}
		}
	}
	return ""
}

// zeroValues are the types of the library that have methods.
var zeroValues = map[string][]any{
	".": {&nacre.Batcher{}, &nacre.Bound{}, &nacre.Dim{}, &nacre.Info{}, &nacre.Map{}, &nacre.MemoryBudget{}, &nacre.Metadata{}, &nacre.Model{}, &nacre.Optional{},
		&nacre.Options{}, &nacre.Plan{}, &nacre.Profile{}, &nacre.Sequence{}, &nacre.Session{}, &nacre.Stream{}, &nacre.Tensor{},
		new(nacre.DType), new(nacre.Kind), new(nacre.Files)},
	"generate":           {&generate.Decoder{}, &generate.Generator{}, &generate.Sampler{}, &generate.Sampling{}, &generate.Sequence{}, new(generate.Reason)},
	"generate/tokenizer": {&tokenizer.Tokenizer{}, &tokenizer.Stream{}},
	"speech":             {&speech.Voice{}, &speech.Sound{}, &speech.WAVWriter{}},
	"text":               {&text.Classifier{}, &text.Embedder{}, &text.Reranker{}, &text.TokenClassifier{}, &text.ZeroShot{}},
}

// TestZeroValues calls every method of nil and of zero values. A method that returns an error
// returns one, or did nothing. None panics.
func TestZeroValues(t *testing.T) {
	for folder, values := range zeroValues {
		listed := map[string]bool{}
		for _, v := range values {
			listed[reflect.TypeOf(v).Elem().Name()] = true
		}
		for name := range exported(t, folder) {
			if typ, _, method := strings.Cut(name, "."); method && !listed[typ] {
				t.Errorf("%s.%s has methods and is not among zeroValues", folder, typ)
			}
		}
		for _, v := range values {
			typ := reflect.TypeOf(v)
			for i := range typ.NumMethod() {
				m := typ.Method(i)
				name := typ.Elem().String() + "." + m.Name
				if name == "nacre.Tensor.Text" {
					continue // there is no element that it could return
				}
				callZero(t, name, reflect.ValueOf(v).Method(i))
				if typ.Elem().Kind() != reflect.Struct || hasValueMethod(typ, m.Name) {
					continue
				}
				callZero(t, name+" of nil", reflect.Zero(typ).Method(i))
			}
		}
	}
}

// hasValueMethod reports whether a method is of the type and not of the pointer to it.
func hasValueMethod(pointer reflect.Type, name string) bool {
	_, ok := pointer.Elem().MethodByName(name)
	return ok
}

// doing are methods that return nil errors, because they have nothing to do or to check.
var doing = []string{"Close", "Validate", "MarshalJSON", "Reshape", "Err"}

func callZero(t *testing.T, name string, method reflect.Value) {
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("%s: %v\n%s", name, p, debug.Stack())
		}
	}()
	typ := method.Type()
	var in []reflect.Value
	for i := range typ.NumIn() {
		at := typ.In(i)
		if typ.IsVariadic() && i == typ.NumIn()-1 {
			break
		}
		arg := reflect.Zero(at)
		switch {
		case at == reflect.TypeFor[context.Context]():
			arg = reflect.ValueOf(context.Background())
		case at.Kind() == reflect.String:
			arg = reflect.ValueOf("text").Convert(at)
		case at == reflect.TypeFor[[]int32]():
			arg = reflect.ValueOf([]int32{1})
		case at == reflect.TypeFor[io.Writer]():
			arg = reflect.ValueOf(io.Discard)
		}
		in = append(in, arg)
	}
	out := method.Call(in)
	if len(out) == 0 {
		return
	}
	last := out[len(out)-1]
	if last.Kind() == reflect.Func { // an iterator yields its errors
		last = firstError(last)
	}
	err, isError := last.Interface().(error)
	short := name[strings.LastIndex(strings.TrimSuffix(name, " of nil"), ".")+1:]
	switch {
	case isError && errors.Is(err, nacre.ErrInternal):
		t.Errorf("%s: %v", name, err)
	case last.Type() == reflect.TypeFor[error]() && !isError &&
		!slices.ContainsFunc(doing, func(m string) bool { return strings.HasPrefix(short, m) }):
		t.Errorf("%s: no error", name)
	}
}

// firstError returns the error of the first pair that an iterator of pairs yields.
func firstError(seq reflect.Value) reflect.Value {
	found := reflect.Zero(reflect.TypeFor[error]())
	for _, v := range seq.Seq2() {
		found = v
		break
	}
	return found
}
