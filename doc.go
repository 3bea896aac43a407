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
// The folder examples has whole programs: a service (images), a model that listens to a
// stream (voice), a chat, search by meaning, a table (forest) and an operator.
//
// # Models and sessions
//
// A program opens a model once and makes a session of it once, or one for each choice
// of Options, which share the weights. Sessions are closed before their model; an
// open session keeps its model from closing.
//
// OpenFS opens a model in a file system, OpenReaderAt reads one, and Decode takes one in
// memory. A model file is not trusted: counts and offsets are checked before
// anything is allocated, other files are read from the model's own folder only, and
// Options.MemoryLimit bounds the memory of a run. A mapped file must not
// change while the model is open. If another program shortens it, functions that open
// a model, make a session or copy a weight return ErrFormat with the name of the file.
// If kernels read beyond the end of a shortened file, the process ends.
//
// # Inputs and outputs
//
// Session.Inputs and Session.Outputs describe the inputs and outputs of a run. An extent
// that a model leaves open has a name (Dim.Symbol), and may differ from run to run.
// Session.ZeroInputs makes tensors from names and sizes, FromImage from
// pictures.
//
// A model with state, such as one that listens to a stream or generates text with a
// cache, takes its state as inputs and returns it as outputs. A Stream holds the state,
// so each of its runs needs new frames or tokens only (Stream.Inputs). Session.LastRows
// computes the logits of a prompt's last token only.
//
// # Memory
//
// Inputs belong to the caller: a run reads them, and keeps none after it returns.
// Results belong to the caller, too: no later run writes to them, and they stay valid
// after session and model are closed. A tensor made over a slice shares its memory;
// Data and Tensor.Bytes return the slice. Tensor.Convert makes a tensor of another element type, and
// ReadProto reads the stored tensors of ONNX's tests.
//
// Models, sessions, Streams and Bounds hold memory outside Go's heap. Only their Close
// gives it back; the garbage collector does not.
//
// # Concurrency
//
// All methods of models and sessions may be called from many goroutines at once, and
// one tensor may be the input of many runs at once. Each run under way takes memory
// (see Session); Session.Trim gives back the memory that no run uses. A Bound and a
// Stream are each for one goroutine at a time.
//
// A Batcher joins the runs of many callers to runs of several rows, for models with rows that are
// proved independent. Session.Warm and Batcher.Warm make plans before the first caller comes.
// Options.Logger is told of plans, waits and refusals, and Session.Stats counts them.
//
// # Errors
//
// Errors match kinds such as ErrShape with errors.Is. Their text says what is wrong,
// where, and what to do. No file or argument makes this package panic, except an index
// out of range (Tensor.Text). A defect that a file reveals is ErrInternal with the file's
// name. Methods of nil and zero values return ErrClosed, or nothing if they return no
// error.
//
// # Operators
//
// A model may need an operator outside the standards. Package runtime/op describes how a
// program writes one; Options.Operators adds it to a session.
//
// # Versions
//
// From version 1 on, the identifiers that testdata/api.txt lists follow semantic versions: this
// package, and packages formats, generate, generate/tokenizer, npy, packed, quantize, speech,
// speech/phonemes, text, runtime/graph, runtime/op, runtime/op/standard, runtime/tensor and
// runtime/vulkan. A program that compiles with one version compiles with later versions of the same
// major version. Files that one version reads, later ones read too, unless a defect let them pass.
// Errors keep their kinds.
//
// These may change with any version: the time and the memory of runs, the kernels that compute
// them, and with these the last digits of floats; texts of errors, plans and profiles; the
// packages that the list leaves out. CHANGELOG.md says what a program must edit.
package nacre
