package formats

import (
	"slices"

	"github.com/nacre-ml/nacre/formats/internal/exchange"
	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// ToFolder returns the model of a GGUF file with the tensors and the settings of a folder of
// Hugging Face. Names, and the order of rows where it differs, are of the package transformers.
// Elements stay as they are stored where they can; SaveFolder makes floats of blocks. The tokenizer
// is not part of the result. The settings name o.DType as the type of tensors. The result shares
// tensors with m, and must not be used after m is closed.
//
// If a folder cannot say what the file says, the error names it.
func ToFolder(m *graph.Model, o Options) (*graph.Model, error) { return ToFolderWithin(nil, m, o) }

// ToFolderWithin is ToFolder with a budget for memory.
func ToFolderWithin(b *Budget, m *graph.Model, o Options) (_ *graph.Model, err error) {
	defer guard.At(m.File).End(&err)
	return exchange.ToFolder(m, o.DType, Lowering{Budget: b})
}

// ToGGUF returns the model of a folder of Hugging Face with the tensors and the metadata of a GGUF
// file, as llama.cpp expects them, without the tokenizer. Matrices keep their elements; vectors
// become float32. Warnings of the result name settings that the file does not have. The result
// shares tensors with m, and must not be used after m is closed.
//
// If a file cannot say what the folder says, the error names it.
func ToGGUF(m *graph.Model) (*graph.Model, error) { return ToGGUFWithin(nil, m) }

// ToGGUFWithin is ToGGUF with a budget for memory.
func ToGGUFWithin(b *Budget, m *graph.Model) (_ *graph.Model, err error) {
	defer guard.At(m.File).End(&err)
	return exchange.ToGGUF(m, Lowering{Budget: b})
}

// SaveFolder writes a model to a new folder: tensors as safetensors, with shards and an index if
// they are large, metadata of the kind json as files, and further files by name. The folder appears
// when it is complete, and path must be free or an empty folder. Tensors in blocks become o.DType,
// or float32.
func SaveFolder(path string, m *graph.Model, files map[string][]byte, o Options) (err error) {
	defer guard.At(path).End(&err)
	i := slices.IndexFunc(Formats, func(f Format) bool { return f.saveFolder != nil })
	return Formats[i].saveFolder(path, m, files, o)
}
