// Package nacre runs neural networks from model files, natively and without a
// foreign shared library.
//
// Open maps a model file, Model.NewSession makes it ready to run, and Session.Run
// turns input tensors into output tensors:
//
//	model, err := nacre.Open("digits.onnx")
//	session, err := model.NewSession(nacre.Options{})
//	image, err := nacre.NewTensor(pixels, 1, 1, 8, 8)
//	outputs, err := session.Run(ctx, map[string]*nacre.Tensor{"image": image})
//	scores, err := nacre.Data[float32](outputs["probabilities"])
//
// example_program_test.go has whole programs: a service, a model that listens to a
// stream, and one that generates with a cache.
//
// # Models and sessions
//
// A program opens a model once and makes a session of it once, or one for each choice
// of Options, which share the weights. Sessions are closed before their model; an
// open session keeps its model from closing.
//
// Models also come from a file system (OpenFS), a reader (OpenReaderAt) and memory
// (Decode). A model file is not trusted: counts and offsets are checked before
// anything is allocated, other files are read from the model's own folder only, and
// Options.MemoryLimit bounds what a run may take. A file that is mapped must not
// change while the model is open. If another program shortens it, the functions that open
// a model, make a session and copy a weight return ErrFormat, with the name of the file;
// a shorter file that kernels meet while a session is made or runs ends the process.
//
// # Inputs and outputs
//
// Session.Inputs and Session.Outputs describe what a run takes and gives. The extents
// of axes that a model leaves open have names (Dim.Symbol); each run may have other
// extents. Session.ZeroInputs makes tensors from names and sizes, FromImage from
// pictures.
//
// A model that carries a state from run to run, such as one that listens to a stream
// or that generates text with a cache, takes the state as inputs and returns it as
// outputs. A Stream holds the states, and each of its runs is given new frames or tokens
// alone. Stream.Inputs describes these. Session.LastRows saves what a decoder computes for
// the tokens of a prompt but for the last, whose logits choose the next.
//
// # Memory
//
// The tensors that a run is given belong to the caller: a run reads them, and keeps
// none of them when it returns. The tensors that a run returns belong to the caller
// too: no later run writes to them, and they stay valid when session and model are
// closed. Tensors share the memory of the slices that they were made over, which Data
// and Tensor.Bytes return again.
//
// Models, sessions, Streams and Bounds hold memory outside Go's heap. Only their Close
// gives it back; the garbage collector does not.
//
// # Concurrency
//
// All methods of models and sessions may be called from many goroutines at once, and
// one tensor may be the input of many runs at once. What this costs is memory:
// Session says how much, and Session.Trim gives back what no run uses. A Bound and a
// Stream are each for one goroutine at a time.
//
// # Errors
//
// Errors match the kinds of this package with errors.Is (ErrShape and those beside
// it), and say in text what is wrong, where, and what to do. Nothing that a file or an
// argument holds is a panic, but for indices (Tensor.Text). A defect that a file finds is an
// error that matches ErrInternal, with the file's name. Methods of values that are nil or
// were never made return ErrClosed, or nothing where they return no error.
//
// # Operators
//
// A model may need an operator that no standard has. Package runtime/op says how a
// program writes one; Options.Operators brings it in.
package nacre
