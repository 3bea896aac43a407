package formats

import (
	"bytes"
	"fmt"
	"regexp"
)

// strangers lists files that people often take for models: the bytes at offset at, and advice for
// the message.
var strangers = []struct {
	at     int
	begins string
	is     string
}{
	{0, "version https://git-lfs", "it is a pointer of Git LFS, and git lfs pull fetches the file that it stands for"},
	{0, "<!DOCTYPE", "it is a page of the web, perhaps of a download that failed"},
	{0, "<!doctype", "it is a page of the web, perhaps of a download that failed"},
	{0, "<html", "it is a page of the web, perhaps of a download that failed"},
	{0, "PK\x03\x04", "it is a zip archive, as files of PyTorch are; torch.onnx.export converts them"},
	{0, "\x1f\x8b", "it is compressed by gzip; gunzip unpacks it"},
	{0, "\x89HDF\r\n", "it is an HDF5 file, as files of Keras are; tf2onnx converts them"},
	{4, "TFL3", "it is a file of TensorFlow Lite; tf2onnx converts it"},
	{4, "ORTM", "it is a model in the ORT format, which ONNX Runtime alone reads; take the .onnx file that it was made of, " +
		"or have a session of onnxruntime write it again, with SessionOptions.optimized_model_filepath and the config " +
		"entry session.save_model_format=ONNX"},
	{0, "lmgg", older},
	{0, "fmgg", older},
	{0, "tjgg", older},
}

// older is the advice for files of llama.cpp from before GGUF.
const older = "it is a file of ggml in a form older than GGUF; convert the original model again"

// texts lists the text forms of ONNX models. begins matches the beginning of a text, after white
// space and comments. format is the form's name in the Python package onnx.
var texts = []struct {
	begins *regexp.Regexp
	is     string
	format string
}{
	{regexp.MustCompile(`^\{\s*"(irVersion|ir_version|opsetImport|opset_import|producerName|producer_name|graph)"`), "JSON", "json"},
	{regexp.MustCompile(`^<\s*(ir_version|opset_import|producer_name)\s*:`), "the text language of ONNX", "onnxtxt"},
	{regexp.MustCompile(`^((ir_version|producer_name|producer_version|domain|model_version|doc_string)\s*:|(graph|opset_import)\s*:?\s*\{)`), "protobuf text", "textproto"},
}

// blank matches white space and comments.
var blank = regexp.MustCompile(`^(\s+|#[^\n]*\n|//[^\n]*\n)*`)

// mostBegins is the number of bytes at the beginning of a text that resembles looks at.
const mostBegins = 4096

// resembles says, for messages, what content of no known format seems to be. It returns "" if it
// cannot tell.
func resembles(data []byte) string {
	for _, s := range strangers {
		if s.at <= len(data) && bytes.HasPrefix(data[s.at:], []byte(s.begins)) {
			return ": " + s.is
		}
	}
	begin := data[:min(len(data), mostBegins)]
	begin = begin[len(blank.Find(begin)):]
	for _, t := range texts {
		if t.begins.Match(begin) {
			const text = `: it is an ONNX model as %s; onnx.save(onnx.load(FILE, format=%q), "model.onnx") in Python converts it`
			return fmt.Sprintf(text, t.is, t.format)
		}
	}
	return ""
}
