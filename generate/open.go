package generate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/generate/tokenizer"
	"github.com/nacre-ml/nacre/internal/beneath"
	"github.com/nacre-ml/nacre/internal/guard"
)

// OpenOptions say how Open opens a decoder. The zero value does as its files say.
type OpenOptions struct {
	// Session is for the session: threads, device, limits of memory.
	Session nacre.Options
	// Tokenizer is the path of a tokenizer, a file or a folder; "" is the model's own.
	Tokenizer string
	// NoTokenizer does without a tokenizer, also if the model has one.
	NoTokenizer bool
	// Change, unless nil, changes the settings of the files before they are used, such as Window. It
	// does not set Tokenizer.
	Change func(o *Options)
}

// Decoder is a generator with the files that it comes from. Close closes its session and its model.
type Decoder struct {
	*Generator
	Model   *nacre.Model
	Session *nacre.Session
	// Tokenizer is nil if the model comes without one. Prompts are tokens then.
	Tokenizer *tokenizer.Tokenizer
	// Sampling is how the files ask for tokens to be chosen.
	Sampling Sampling
}

// Open opens a decoder with its tokenizer and its settings. The path is a GGUF file, which has all in
// its metadata, another model file with the rest in its folder, or a folder: of Hugging Face, or with
// the file that DecoderFile names, model.onnx or onnx/model.onnx.
//
// The error is as for DecoderFile, nacre.Open, SettingsOf, TokenizerOf, nacre.Model.NewSession and New.
// A model without a tokenizer is no error.
func Open(ctx context.Context, path string, o OpenOptions) (_ *Decoder, err error) {
	defer guard.At(path).End(&err)
	if ctx == nil {
		return nil, errorf(nacre.ErrOption, "%s: the context of a decoder is nil", path)
	}
	file, folder, err := modelFile(path)
	if err != nil {
		return nil, err
	}
	d := &Decoder{}
	defer func() {
		if err != nil {
			_ = d.Close()
		}
	}()
	if d.Model, err = nacre.OpenContext(ctx, file); err != nil {
		return nil, err
	}
	options, sampling, err := SettingsOf(d.Model, beneath.FS(folder))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", folder, err)
	}
	if n := o.Session.Lowering.Context; n > 0 {
		options.Original = 0
		if options.Window == 0 || options.Window > n {
			options.Window = n
		}
	}
	if o.Change != nil {
		o.Change(&options)
	}
	switch {
	case o.NoTokenizer:
	case o.Tokenizer != "":
		d.Tokenizer, err = tokenizerAt(ctx, d.Model, o.Tokenizer)
	default:
		if d.Tokenizer, err = TokenizerOf(ctx, d.Model, folder); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	if err != nil {
		return nil, err
	}
	options.Tokenizer = nil
	if d.Tokenizer != nil {
		options.Tokenizer = d.Tokenizer
	}
	if d.Session, err = d.Model.NewSessionContext(ctx, o.Session); err != nil {
		return nil, err
	}
	if d.Generator, err = New(ctx, d.Session, options); err != nil {
		return nil, err
	}
	d.Sampling = sampling
	return d, nil
}

// Close closes the session and the model. Further calls do nothing.
func (d *Decoder) Close() (err error) {
	defer guard.At("").End(&err)
	if d == nil {
		return nil
	}
	if d.Session != nil {
		err = d.Session.Close()
	}
	if d.Model != nil {
		err = errors.Join(err, d.Model.Close())
	}
	return err
}

// TokenizerOf returns the tokenizer of a model: the one in the metadata of a GGUF file, or the one in
// the model's folder. If there is none, the error is fs.ErrNotExist, and else as for tokenizer.FromGGUF
// and tokenizer.Load.
func TokenizerOf(ctx context.Context, m *nacre.Model, folder string) (_ *tokenizer.Tokenizer, err error) {
	defer guard.At(folder).End(&err)
	source := m.Source()
	if source == nil || source.Format != ggufFormat {
		return tokenizer.LoadContext(ctx, folder, tokenizer.Options{})
	}
	t, err := tokenizer.FromGGUF(ctx, source.Meta, tokenizer.Options{})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", source.File, err)
	}
	return t, nil
}

// tokenizerAt returns the tokenizer at a path, by the rules of gpt.rs for its checkpoints.
func tokenizerAt(ctx context.Context, m *nacre.Model, path string) (*tokenizer.Tokenizer, error) {
	if m.Source().Format == gptrsFormat {
		return tokenizer.LoadGPTRSContext(ctx, path, tokenizer.Options{})
	}
	return tokenizer.LoadContext(ctx, path, tokenizer.Options{})
}

// modelFile returns the model file that a path names, and the folder of the files beside it. A folder
// without a model file is itself the model.
func modelFile(path string) (file, folder string, err error) {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return path, filepath.Dir(path), nil
	}
	named, err := DecoderFile(beneath.FS(path))
	if err != nil {
		return "", "", fmt.Errorf("%s: %w", path, err)
	}
	for _, name := range []string{named, "model.onnx", "onnx/model.onnx"} {
		file := filepath.Join(path, filepath.FromSlash(name))
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
			return file, path, nil
		}
	}
	return path, path, nil
}
