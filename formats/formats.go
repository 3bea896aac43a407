//go:build !onnxonly

package formats

import (
	"context"
	"io"
	"slices"

	"github.com/nacre-ml/nacre/formats/gguf"
	"github.com/nacre-ml/nacre/formats/gptrs"
	"github.com/nacre-ml/nacre/formats/hnw"
	"github.com/nacre-ml/nacre/formats/huggingface"
	"github.com/nacre-ml/nacre/formats/loom"
	"github.com/nacre-ml/nacre/formats/oinf"
	"github.com/nacre-ml/nacre/formats/openinfer"
	"github.com/nacre-ml/nacre/formats/safetensors"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// Formats is the table of formats, in the order in which they are probed.
var Formats = []Format{
	{
		Name: safetensors.Name, About: "tensors with text metadata; in shards, or a folder of Hugging Face",
		Extensions: []string{".safetensors"}, Begins: "8 bytes of length and a JSON object, or an index of shards", Probe: safetensors.Probe,
		open: safetensors.Open, read: safetensors.Read, save: written(safetensors.Write), verify: safetensors.Verify,
		openFolder: safetensors.OpenFolder, openFolderFS: safetensors.OpenFS, verifyFolder: safetensors.VerifyFolder,
		saveFolder: safetensors.SaveFolder,
		readFiles:  safetensors.ReadFiles, lower: huggingface.Lower, Bounds: slices.Concat(safetensors.Bounds, huggingface.Bounds),
	},
	{
		Name: oinf.Name, About: "tensors, size variables and typed metadata of OpenInfer; version 1, and version 2 kept where a file is of it",
		Extensions: []string{".oinf"}, Begins: "OINF", Probe: oinf.Probe,
		open: mapped(oinf.Read), read: oinf.Read, save: written(oinf.Write), verify: inMemory(oinf.Verify), summary: oinf.Summary,
		dequantize: oinf.Dequantize,
	},
	onnxRow,
	gptrsRow(gptrs.Checkpoint, gptrs.Bounds, "checkpoints of gpt.rs: tensors by name and id, and a model's configuration", gptrs.Summary, ".chk", ".gptrschk"),
	gptrsRow(gptrs.Archive, nil, "tensors of gpt.rs by name", nil, ".ten", ".gptrsten"),
	{
		Name: hnw.Name, About: "weight archives of Hydronnx with three levels of checksums",
		Extensions: []string{".hnw"}, Begins: "HNXWGT", Probe: hnw.Probe,
		open: mapped(hnw.Read), read: hnw.Read, save: written(hnw.Write), verify: inMemory(hnw.Verify), Bounds: hnw.Bounds,
	},
	{
		Name: gguf.Name, About: "tensors, in blocks too, with typed metadata, of llama.cpp; in one file or several",
		Extensions: []string{".gguf"}, Begins: "GGUF", Probe: gguf.Probe,
		open: gguf.Open, read: gguf.Read, readFiles: gguf.ReadFiles, save: written(gguf.Write), verify: gguf.Verify, dequantize: gguf.Dequantize,
		lower: gguf.Lower, Bounds: gguf.Bounds,
	},
	{
		Name: loom.Name, About: "networks of Loom: checkpoints, and specs of architectures",
		Extensions: []string{".json"}, Begins: "a JSON object with layers", Probe: loom.Probe,
		open: mapped(loom.Read), read: loom.Read, save: written(loom.Write), verify: inMemory(loom.Verify), dequantize: loom.Dequantize, lower: loom.Lower,
		Bounds: loom.Bounds,
	},
	{
		Name: loom.EntityName, About: "networks and transformer bundles of Loom, in one binary file",
		Extensions: []string{".entity"}, Begins: "ENTITY", Probe: loom.ProbeEntity,
		open: mapped(loom.ReadEntity), read: loom.ReadEntity, save: written(loom.WriteEntity), verify: inMemory(loom.VerifyEntity), dequantize: loom.Dequantize, lower: loom.Lower,
		Bounds: loom.EntityBounds,
	},
	{
		Name: openinfer.Name, About: "programs of OpenInfer: variables and blocks, as JSON or in a text language; tensors are in a file of oinf",
		Extensions: []string{".oig", ".json", ".txt"}, Begins: "a section of variables or a block, or a JSON object with vars and blocks", Probe: openinfer.Probe,
		open: mapped(openinfer.Read), read: openinfer.Read, save: saveProgram, verify: inMemory(openinfer.Verify), summary: openinfer.Summary, Bounds: openinfer.Bounds,
		lower: openinfer.Lower,
	},
}

func gptrsRow(f *gptrs.Format, bounds []Bound, about string, summary func(ctx context.Context, w io.Writer, m *graph.Model) error, extensions ...string) Format {
	return Format{
		Name: f.Name, About: about, Extensions: extensions, Begins: f.Magic(), Probe: f.Probe,
		open: mapped(f.Read), read: f.Read, save: written(f.Write), verify: inMemory(f.Verify), summary: summary, lower: gptrs.Lower,
		Bounds: bounds,
	}
}
