package speech

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"sync"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/speech/phonemes"
)

// Options describe a voice beyond its files.
type Options struct {
	// Session is for the sessions of the voice: threads, device, limits of memory.
	Session nacre.Options
	// Phonemes turns text into phonemes, for voices that take them. Nil is phonemes.For the
	// language of the voice.
	Phonemes phonemes.Converter
	// Precision is the set of graphs of a voice of Chatterbox: fp32, fp16, quantized, q4 or q4f16. ""
	// is the fastest whose files are there.
	Precision string
	// Reference is the sound of the person that a voice of Chatterbox speaks like, best 5 to 20
	// seconds of clear speech.
	Reference Sound
}

// Voice is an open voice. One goroutine at a time may speak with it. Methods of nil and zero values
// return nothing, or nacre.ErrClosed.
type Voice struct {
	kind   *kind
	path   string
	engine engine
	mu     sync.Mutex // held while the voice speaks
	closed bool
}

// Open opens a voice by its path: a file VOICE.onnx of Piper, or a folder of Chatterbox.
//
// The error is nacre.ErrUnsupported if the path is no voice, or the voice needs something that this
// package lacks, nacre.ErrFormat if a file is damaged, fs.ErrNotExist if a file is missing, and else
// as for nacre.Open and nacre.Model.NewSession.
func Open(name string, o Options) (_ *Voice, err error) {
	defer guard.At(name).End(&err)
	f, err := onDisk(name)
	if err != nil {
		return nil, named(name, err)
	}
	return open(f, name, &o)
}

// OpenFS is Open of a file or of a folder in a file system.
func OpenFS(fsys fs.FS, name string, o Options) (_ *Voice, err error) {
	defer guard.At(name).End(&err)
	if fsys == nil {
		return nil, errorf(nacre.ErrOption, "%s: the file system is nil", name)
	}
	f, err := within(fsys, name)
	if err != nil {
		return nil, named(name, err)
	}
	return open(f, name, &o)
}

// KindFS returns the kind of the voice that a file or a folder of a file system is, such as "piper".
// It looks at the names of files alone, so a voice may lack files that Open needs. It returns "" for
// what is no voice.
func KindFS(fsys fs.FS, name string) string {
	if fsys == nil {
		return ""
	}
	f, err := within(fsys, name)
	if err != nil {
		return ""
	}
	k, err := kindOf(f)
	if err != nil {
		return ""
	}
	return k.name
}

func open(f files, name string, o *Options) (*Voice, error) {
	k, err := kindOf(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	e, err := k.open(f, o)
	if err != nil {
		return nil, err
	}
	return &Voice{kind: k, path: name, engine: e}, nil
}

// named returns an error of a file system with the name of the file that the caller knows.
func named(name string, err error) error { return fmt.Errorf("%s: %w", name, cause(err)) }

// cause returns an error of a file system without the call and the path.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// Kind returns the kind of the voice, such as "piper".
func (v *Voice) Kind() string {
	if !v.made() {
		return ""
	}
	return v.kind.name
}

// Rate returns how many samples a second of the voice's sound has.
func (v *Voice) Rate() int {
	if !v.made() {
		return 0
	}
	return v.engine.rate()
}

// Language returns the language of the voice, such as "en-us", or "" if its files do not say.
func (v *Voice) Language() string {
	if !v.made() {
		return ""
	}
	return v.engine.language()
}

// Speakers returns the names of the voice's speakers in their order, nil if it has one.
func (v *Voice) Speakers() []string {
	if !v.made() {
		return nil
	}
	return slices.Clone(v.engine.speakers())
}

func (v *Voice) made() bool { return v != nil && v.engine != nil }

// file names the voice in errors.
func (v *Voice) file() string {
	if v == nil {
		return ""
	}
	return v.path
}

// Close frees the memory of the voice. The error is nacre.ErrInUse while the voice speaks. Further
// calls do nothing.
func (v *Voice) Close() (err error) {
	defer guard.At(v.file()).End(&err)
	if !v.made() {
		return nil
	}
	if !v.mu.TryLock() {
		return errorf(nacre.ErrInUse, "%s: the voice speaks; end the loop over Speak first", v.path)
	}
	defer v.mu.Unlock()
	if v.closed {
		return nil
	}
	v.closed = true
	return v.engine.close()
}

// numbered returns the index of a speaker by number.
func numbered(speakers []string, number string) (int, error) {
	n, err := strconv.Atoi(number)
	switch {
	case len(speakers) == 0:
		return 0, errorf(nacre.ErrOption, "the voice has one speaker, and none is %q", number)
	case err != nil || n < 0 || n >= len(speakers):
		return 0, errorf(nacre.ErrOption, "the voice has no speaker %q; it has %s", number, listed(speakers))
	}
	return n, nil
}

// listed names the speakers of a voice in messages, the first of many alone.
func listed(speakers []string) string {
	const most = 8
	s := fmt.Sprintf("%q", speakers[:min(len(speakers), most)])
	if len(speakers) > most {
		s += fmt.Sprintf(" and others, by numbers from 0 to %d", len(speakers)-1)
	}
	return s
}
