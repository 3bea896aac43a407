package tokenizer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/nacre-ml/nacre/internal/beneath"
	"github.com/nacre-ml/nacre/internal/guard"
)

// maxFile bounds the bytes of a file.
const maxFile = 1 << 28

// names are the files of a folder that may hold a tokenizer, the best first.
var names = []string{"tokenizer.json", "tokenizer.model", "spiece.model", "sentencepiece.bpe.model", "vocab.json", "vocab.txt"}

// Load is LoadContext without a context, with the default limits.
func Load(path string) (*Tokenizer, error) {
	return LoadContext(context.Background(), path, Options{})
}

// LoadContext reads a tokenizer from a file, or from the first of these files in a folder:
// tokenizer.json, tokenizer.model, spiece.model, sentencepiece.bpe.model, vocab.json with
// merges.txt, vocab.txt. If a folder has none of them, the error is fs.ErrNotExist. The file
// tokenizer_config.json beside it says whether a SentencePiece model adds tokens at the beginning
// and the end, whether a WordPiece vocabulary is in lower case, and which template chats have.
//
// Every file but the one that path names must be in its folder. A link that leaves the folder is
// refused, unless it is a link of a Hugging Face cache to its blobs. If a file is past the limits
// of o, the error is ErrLimit.
func LoadContext(ctx context.Context, path string, o Options) (t *Tokenizer, err error) {
	defer guard.At(path).End(&err)
	return load(ctx, path, o, func(f *folder, data []byte) (*Tokenizer, error) {
		c, err := readConfig(f)
		if err != nil {
			return nil, err
		}
		t, err := f.tokenizer(data, c)
		if err != nil {
			return nil, err
		}
		t.chat = c.chat
		return t, nil
	})
}

// load reads the file of a path and names it in errors.
func load(ctx context.Context, path string, o Options, read func(*folder, []byte) (*Tokenizer, error)) (t *Tokenizer, err error) {
	f := &folder{path: path}
	defer func() {
		if err != nil && !errors.As(err, new(*fs.PathError)) && !errors.As(err, new(*fileError)) {
			err = &fileError{f.file(f.base), err}
		}
	}()
	defer caught(&err)
	check(ctx.Err())
	f.work = o.Limit.work(ctx, readRate, 0)
	data, err := f.open()
	if err != nil {
		return nil, err
	}
	defer f.root.Close()
	if t, err = read(f, data); err != nil {
		return nil, err
	}
	t.limit = o.Limit
	return t, nil
}

// A fileError is an error in a file.
type fileError struct {
	path string
	err  error
}

func (e *fileError) Error() string { return e.path + ": " + e.err.Error() }
func (e *fileError) Unwrap() error { return e.err }

// A folder holds the files of a tokenizer.
type folder struct {
	path string
	root *os.Root
	base string // the file with the tokenizer
	work *work
}

// file returns the path of a file.
func (f *folder) file(name string) string { return filepath.Join(f.path, name) }

// open opens the folder and reads the file that its path names, or the first of names.
func (f *folder) open() (data []byte, err error) {
	info, err := os.Stat(f.path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		file, err := beneath.Named(f.path)
		if err != nil {
			return nil, err
		}
		f.path, f.base = filepath.Dir(f.path), filepath.Base(f.path)
		if data, err = f.content(file); err != nil {
			return nil, err
		}
		f.root, err = os.OpenRoot(f.path)
		return data, err
	}
	if f.root, err = os.OpenRoot(f.path); err != nil {
		return nil, err
	}
	for _, name := range names {
		if data, err = f.read(name); !errors.Is(err, fs.ErrNotExist) {
			f.base = name
			break
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = fmt.Errorf("%s: no tokenizer: one of the files %s is needed: %w", f.path, strings.Join(names, ", "), &fs.PathError{Op: "open", Path: f.path, Err: fs.ErrNotExist})
	case err == nil:
		return data, nil
	}
	f.root.Close()
	return nil, err
}

// read reads a file of the folder.
func (f *folder) read(name string) ([]byte, error) {
	file, err := beneath.Open(f.root, name)
	if err == nil {
		var data []byte
		if data, err = f.content(file); err == nil {
			return data, nil
		}
	}
	if errors.As(err, new(*fs.PathError)) {
		return nil, err
	}
	return nil, &fileError{f.file(name), err}
}

// content reads and closes a file of a bounded size, and counts its bytes.
func (f *folder) content(file *os.File) ([]byte, error) {
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > maxFile {
		return nil, fmt.Errorf("the file has %d bytes: at most %d are allowed", info.Size(), maxFile)
	}
	f.work.argument(int(info.Size()))
	f.work.hold(int(info.Size()))
	return io.ReadAll(io.LimitReader(file, info.Size()))
}

// tokenizer reads a file of any kind.
func (f *folder) tokenizer(data []byte, c *settings) (*Tokenizer, error) {
	switch {
	case f.base == "merges.txt":
		vocab, err := f.read("vocab.json")
		if err != nil {
			return nil, err
		}
		return readPairs(f, vocab, data, c)
	case f.base == "vocab.json" && !f.hasTables(data):
		merges, err := f.read("merges.txt")
		if err != nil {
			return nil, err
		}
		return readPairs(f, data, merges, c)
	case strings.HasSuffix(f.base, ".txt"):
		return readWordPieces(f.work, data, c)
	case isJSON(data):
		return readJSON(f.work, data)
	}
	return readSentencePiece(f.work, data, c)
}

// Read is ReadContext without a context, with the default limits.
func Read(data []byte) (*Tokenizer, error) {
	return ReadContext(context.Background(), data, Options{})
}

// ReadContext reads a tokenizer from the bytes of one file: a tokenizer.json, the schemas of
// gpt.rs, or a model of SentencePiece. A JSON file with a model and without steps is one of gpt.rs.
// If the file is past the limits of o, the error is ErrLimit.
func ReadContext(ctx context.Context, data []byte, o Options) (t *Tokenizer, err error) {
	defer guard.At("").End(&err)
	defer caught(&err)
	check(ctx.Err())
	w := o.Limit.work(ctx, readRate, len(data))
	if isJSON(data) {
		t, err = readJSON(w, data)
	} else {
		t, err = readSentencePiece(w, data, &settings{})
	}
	if err != nil {
		return nil, err
	}
	t.limit = o.Limit
	return t, nil
}

func readJSON(w *work, data []byte) (*Tokenizer, error) {
	w.json(data)
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(data, &keys); err != nil {
		return nil, err
	}
	for _, step := range []string{"normalizer", "pre_tokenizer", "post_processor", "decoder"} {
		if _, ok := keys[step]; ok {
			return readDocument(w, data)
		}
	}
	return readGPTRS(w, data)
}

func isJSON(data []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n\xEF\xBB\xBF"), []byte("{"))
}

// hasTables reports whether a JSON file contains its vocabulary.
func (f *folder) hasTables(data []byte) bool {
	f.work.json(data)
	var head struct{ Vocab, Model map[string]json.RawMessage }
	return json.Unmarshal(data, &head) == nil && (head.Vocab != nil || head.Model != nil)
}

// settings are the contents of tokenizer_config.json, and the chat template.
type settings struct {
	AddBOS      *bool                 `json:"add_bos_token"`
	AddEOS      *bool                 `json:"add_eos_token"`
	LowerCase   *bool                 `json:"do_lower_case"`
	PrefixSpace bool                  `json:"add_prefix_space"`
	Added       map[string]AddedToken `json:"added_tokens_decoder"`
	Template    json.RawMessage       `json:"chat_template"`
	BOS         json.RawMessage       `json:"bos_token"`
	EOS         json.RawMessage       `json:"eos_token"`
	UNK         json.RawMessage       `json:"unk_token"`
	PAD         json.RawMessage       `json:"pad_token"`
	chat        *Chat
}

// readConfig reads the files beside a tokenizer, if they are there.
func readConfig(f *folder) (*settings, error) {
	const name = "tokenizer_config.json"
	c := &settings{}
	data, err := f.read(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	default:
		f.work.json(data)
		if err := json.Unmarshal(data, c); err != nil {
			return nil, &fileError{f.file(name), err}
		}
	}
	c.chat, err = newChat(f, c)
	return c, err
}
