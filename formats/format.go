// Package formats opens and saves models. The content of a file tells its format. The package is
// for programs that convert, inspect or change model files, and for what is special to one format.
// Most programs that run models open them with package nacre.
//
// # Reading, lowering and writing
//
// Load opens a file, Network makes the graph that runs of a file without nodes, and Save writes a model
// in the format of the name's extension:
//
//	m, err := formats.Load("tensors.safetensors")
//	err = formats.Save("tensors.oinf", m, formats.Options{})
//
// Options says what Save leaves out (DropGraph, DropMeta), renames (Rename) or converts (DType,
// Dequantize). Lowering says how Network makes a graph (Quirks, Seed, Ranks, Portable, Batches,
// Context). Models share the mapped file; Close of the model that Load returned frees it.
//
// A folder of Hugging Face becomes a GGUF file that runs by ToGGUF, with the pairs of tokenizer.ToGGUF
// appended to Meta, and ToFolder is the way back. Functions with names that end in Within take a
// budget (NewBudget), which bounds their memory and ends with a context.
//
// # Why three formats read JSON with code of their own
//
// A header decides which bytes belong to which tensor, so two readers must not see two things in
// it. encoding/json accepts duplicate keys, keys in the wrong case and text that is not UTF-8, and
// gives no offsets for messages. Its token interface allocates for every number, and headers may
// have 100 MB. A lexer for one format is shorter than the checks around another lexer.
//
// The three differ in the text that they accept, so they share no lexer: a safetensors header is
// strict JSON; the manifest of an .hnw archive has one canonical spelling, and every other spelling
// is an error; a Loom checkpoint is any text that encoding/json accepts. container.Valid checks a
// checkpoint first, and ends with a context; then a walker records the offsets that messages name.
package formats

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/nacre-ml/nacre/formats/hnw"
	"github.com/nacre-ml/nacre/formats/internal/binio"
	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/formats/onnx"
	"github.com/nacre-ml/nacre/internal/budget"
	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/internal/pieces"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// Format is a kind of file.
type Format struct {
	Name       string
	About      string   // content of the files, for people
	Extensions []string // of the files; new files get the first
	Begins     string   // what Probe looks for, for people
	Probe      func(data []byte) bool
	open       func(b *budget.Budget, f *binio.File) (*graph.Model, error)
	save       func(path string, m *graph.Model, o Options) error
	read       func(b *budget.Budget, name string, data []byte) (*graph.Model, error)
	verify     func(b *budget.Budget, f *binio.File) []error
	summary    func(ctx context.Context, w io.Writer, m *graph.Model) error // nil if the format has no summary

	// dequantize returns a model with numbers in place of codes. It is nil if the format has no
	// codes.
	dequantize func(ctx context.Context, m *graph.Model) (*graph.Model, error)

	// Bounds lists the limits of the reader, beside ReaderBytes.
	Bounds []Bound

	nodes bool // files hold the nodes of a network
	// lower returns a model with the nodes of its network, or nil if the model has no network.
	// lower is nil if files of the format have no network, or have nodes.
	lower func(m *graph.Model, o Lowering) (*graph.Model, error)

	// For formats with models in folders; nil for other formats.
	openFolder   func(b *budget.Budget, path string) (*graph.Model, error)
	openFolderFS func(b *budget.Budget, name string, files fs.FS) (*graph.Model, error)
	verifyFolder func(b *budget.Budget, path string) []error
	saveFolder   func(path string, m *graph.Model, files map[string][]byte, o Options) error

	// readFiles is read for models of several files. It is nil if the format has no such models.
	readFiles func(b *budget.Budget, name string, data []byte, files fs.FS) (*graph.Model, error)
}

// Bound is a limit of a reader on one part of a file: What is limited, and Most of it.
// "go doc github.com/nacre-ml/nacre/formats/internal/container.Bound" shows it.
type Bound = container.Bound

// ReaderBytes returns the most bytes of memory that a reader takes for a file of size bytes, beside
// the file and its numbers after conversion.
func ReaderBytes(size int) int { return container.SpareBytes + container.MostBytes*size }

// Options change the files that Save writes. With the zero value, Save fails if the format cannot
// hold all of the model. The fields:
//
//   - DType: the type that floating-point tensors are converted to
//   - Blocks: the type that tensors in blocks become
//   - Dequantize: numbers in place of codes and scales
//   - DropMeta, DropGraph: leave out metadata, or nodes, that the format cannot hold
//   - Rename: escape names that the format cannot hold
//   - Widened: is called for tensors in blocks that become float32
//   - Progress: is called with the bytes written so far and their total
//
// Options.Within adds a context. "go doc github.com/nacre-ml/nacre/formats/internal/container.Options"
// shows all that the fields mean.
type Options = container.Options

// onnxRow is the row of ONNX, which every program has.
var onnxRow = Format{
	Name: onnx.Name, About: "models with their graphs, opsets 1 to 28, external data",
	Extensions: []string{".onnx"}, Begins: "protobuf fields of a ModelProto", Probe: onnx.Probe,
	open: onnx.Open, read: onnx.Read, readFiles: onnx.ReadFiles, save: saveONNX, verify: onnx.Verify, nodes: true, Bounds: onnx.Bounds(),
}

// ReplaceWeights replaces the initialisers of a model by the tensors of an hnw archive, as
// hnw.Replace does.
func ReplaceWeights(m *graph.Model, path string) error { return ReplaceWeightsWithin(nil, m, path) }

// ReplaceWeightsWithin is ReplaceWeights with a budget for memory. If the budget's context ends, it
// fails and leaves the model as it was.
func ReplaceWeightsWithin(b *Budget, m *graph.Model, path string) (err error) {
	defer guard.At(path).End(&err)
	return hnw.Replace(b, m, path)
}

func saveONNX(path string, m *graph.Model, o Options) error {
	target, err := onnx.Target(m, o)
	if err != nil {
		return container.Saving(path, err)
	}
	return onnx.Save(path, target, onnx.SaveOptions{
		Watch: func(w io.Writer) io.Writer { return o.Counted(w, target) },
		Last:  func() error { return Intact(m) },
	}.Within(o.Context()))
}

// mapped returns a function that opens files of a format with a reader of memory.
func mapped(read func(b *budget.Budget, name string, data []byte) (*graph.Model, error)) func(b *budget.Budget, f *binio.File) (*graph.Model, error) {
	return func(b *budget.Budget, f *binio.File) (*graph.Model, error) {
		m, err := read(b, f.Path, f.Data)
		if err == nil {
			m.Closer = both{m.Closer, f}
		}
		return m, err
	}
}

// inMemory returns a function that verifies files of a format with a verifier of memory.
func inMemory(verify func(b *budget.Budget, name string, data []byte) []error) func(b *budget.Budget, f *binio.File) []error {
	return func(b *budget.Budget, f *binio.File) []error { return verify(b, f.Path, f.Data) }
}

// written returns a function that saves files of a format with a writer of whole files.
func written(write func(w io.Writer, m *graph.Model, o Options) error) func(path string, m *graph.Model, o Options) error {
	return func(path string, m *graph.Model, o Options) error {
		return container.Save(path, func(w io.Writer) error {
			if err := write(o.Counted(w, m), m, o); err != nil {
				return err
			}
			return Intact(m)
		})
	}
}

// Load opens the model in a file, or in a folder of safetensors files, and checks it. The files
// stay mapped until the model is closed. If a file loses bytes while it is read, the error is of
// kind graph.ErrFormat.
func Load(path string) (*graph.Model, error) { return LoadWithin(nil, path) }

// LoadWithin is Load with a budget for memory. If the budget's context ends, LoadWithin fails and
// keeps nothing of the file.
func LoadWithin(b *Budget, path string) (m *graph.Model, err error) {
	defer guard.At(path).End(&err)
	if err := b.Err(); err != nil {
		return nil, opening(path, err)
	}
	if row, ok := folder(path); ok {
		m, err := row.openFolder(b, path)
		if err != nil {
			return nil, err
		}
		return checked(b, m)
	}
	f, err := binio.Open(path)
	if err != nil {
		return nil, opening(path, err)
	}
	defer func() {
		if m == nil {
			f.Close()
		}
	}()
	format, known, err := detect(f)
	if err != nil {
		return nil, err
	}
	read, err := format.open(b, f)
	if err != nil {
		if !known {
			err = misnamed(f, format, err)
		}
		return nil, err
	}
	read.Raw = f.Data
	return checked(b, read)
}

// checked returns m if it is valid and its files are intact. If not, it closes m.
func checked(b *budget.Budget, m *graph.Model) (*graph.Model, error) {
	sound := false
	defer func() {
		if !sound {
			m.Close()
		}
	}()
	if err := validated(b, m); err != nil {
		return nil, err
	}
	if err := Intact(m); err != nil {
		return nil, err
	}
	sound = true
	return m, nil
}

// validated checks the names of a model. It fails if the context of the budget ends.
func validated(b *budget.Budget, m *graph.Model) error {
	err := graph.ValidateWithin(m, func() error { return b.Steps(nodeSteps) })
	if err == nil && b.Err() != nil {
		err = opening(m.File, b.Err())
	}
	return err
}

// nodeSteps is the number of steps that the check of one node's names counts in a budget.
const nodeSteps = 8

// Decode reads a model from data, and checks it. The model keeps data. Messages name the file name.
// A model with external data is refused, because there is no folder to read it from.
func Decode(name string, data []byte) (*graph.Model, error) {
	return DecodeFilesWithin(nil, name, data, nil)
}

// Save writes a model in the format of the name's extension. If the model is of a format with this
// extension, Save keeps its format. An existing file is replaced once the new file is complete, so
// a model may be saved over the file that it is mapped from.
func Save(path string, m *graph.Model, o Options) (err error) {
	defer guard.At(path).End(&err)
	row, ok := byExtension(path)
	i := slices.IndexFunc(Formats, func(f Format) bool { return f.Name == m.Format && slices.Contains(f.Extensions, extension(path)) })
	switch {
	case i >= 0: // formats share extensions
		row = Formats[i]
	case !ok:
		return container.Saving(path, noFormat(path))
	}
	return row.write(path, m, o)
}

// write saves a model in format f. The model may come from another format.
func (f *Format) write(path string, m *graph.Model, o Options) error {
	err := o.Context().Err()
	if err == nil {
		m, err = dequantized(m, o)
	}
	if err == nil {
		err = f.keepsProgram(m, o)
	}
	if err == nil && f.nodes && !o.DropGraph {
		m, err = network(o, m)
	}
	if err != nil {
		return container.Saving(path, err)
	}
	return f.save(path, m, o)
}

// network returns the network of a model, or m if it has none.
func network(o Options, m *graph.Model) (*graph.Model, error) {
	n, err := Network(m, Lowering{Ranks: true, Portable: true, Budget: budget.New(o.Context(), budget.Limits{})})
	if errors.Is(err, ErrNoNetwork) {
		return m, nil
	}
	return n, err
}

// dequantized returns m with numbers in place of codes, if o asks for them and the format of m has
// codes. If not, it returns m.
func dequantized(m *graph.Model, o Options) (*graph.Model, error) {
	i := slices.IndexFunc(Formats, func(f Format) bool { return f.Name == m.Format })
	if !o.Dequantize || i < 0 || Formats[i].dequantize == nil {
		return m, nil
	}
	return Formats[i].dequantize(o.Context(), m)
}

// ErrExtension is the error of Save if no format has the extension of the name.
var ErrExtension = graph.Errorf(graph.ErrUnsupported, "the extension is of no format that is known")

// noFormat returns the reason why the name of a file tells no format.
func noFormat(path string) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return errors.New("it is a folder; give the name of a file in it")
	}
	return fmt.Errorf("%w (%s)", ErrExtension, names())
}

// SaveAs is Save in the format called format, for any extension.
func SaveAs(path, format string, m *graph.Model, o Options) (err error) {
	defer guard.At(path).End(&err)
	i := slices.IndexFunc(Formats, func(f Format) bool { return f.Name == format })
	if i < 0 {
		return &graph.Error{Stage: "save", File: path, Offset: -1, Kind: graph.ErrUnsupported,
			Err: fmt.Errorf("%q is no format that is known (%s)", format, names())}
	}
	return Formats[i].write(path, m, o)
}

// Verify returns every problem found in a file and in the further files of its model. It compares
// checksums. If there is no problem, it returns nil.
func Verify(path string) []error { return VerifyWithin(nil, path) }

// VerifyWithin is Verify with a budget for memory. If the budget's context ends, the context's
// error is one of the problems.
func VerifyWithin(b *Budget, path string) (problems []error) {
	defer guard.At(path).EndAll(&problems)
	if err := b.Err(); err != nil {
		return []error{opening(path, err)}
	}
	if row, ok := folder(path); ok {
		return row.verifyFolder(b, path)
	}
	f, err := binio.Open(path)
	if err != nil {
		return []error{opening(path, err)}
	}
	defer f.Close()
	format, known, err := detect(f)
	if err != nil {
		return []error{err}
	}
	problems = format.verify(b, f)
	if err := container.Intact(slices.Values([][]byte{f.Data})); err != nil {
		return []error{err}
	}
	if !known && len(problems) > 0 {
		problems[0] = misnamed(f, format, problems[0])
	}
	return problems
}

// Summary writes the content of a model read by Load, in the terms of its format. If the format has
// no such text, it writes nothing. If ctx ends, Summary returns its error.
func Summary(ctx context.Context, w io.Writer, m *graph.Model) (err error) {
	defer guard.At(m.File).End(&err)
	i := slices.IndexFunc(Formats, func(f Format) bool { return f.Name == m.Format })
	if i < 0 || Formats[i].summary == nil {
		return nil
	}
	return Formats[i].summary(ctx, pieces.Writer(ctx, w), m)
}

// opening returns the error for a file that could not be opened, without naming the file twice.
func opening(path string, err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return &graph.Error{Stage: "load", File: path, Offset: -1, Err: err}
}
