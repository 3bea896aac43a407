package main

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall/js"
	"time"
	"unsafe"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/speech"
)

func init() { calls["voice"], calls["speak"] = openVoice, speak }

// voice is an opened voice. It speaks one text after the other, and is closed after the last.
type voice struct {
	*speech.Voice
	speaks sync.Mutex
}

// Close closes the voice when the text that it speaks has ended.
func (v *voice) Close() error {
	v.speaks.Lock()
	defer v.speaks.Unlock()
	return v.Voice.Close()
}

// openVoice opens the voice among the files of the message.
func openVoice(r *request) (map[string]any, []any, error) {
	files, err := r.files()
	if err != nil {
		return nil, nil, err
	}
	start := time.Now()
	beside, name := r.voiceIn(files)
	o := speech.Options{Session: nacre.Options{Threads: 1}, Precision: text(r.Get("precision"), "")}
	v, err := speech.OpenFS(beside, name, o)
	like := ""
	if errors.Is(err, speech.ErrSound) { // it needs a reference
		var found bool
		if o.Reference, like, found, err = r.reference(beside, name, err); found {
			v, err = speech.OpenFS(beside, name, o)
		}
	}
	if err != nil {
		return nil, nil, err
	}
	speakers := []any{}
	for _, s := range v.Speakers() {
		speakers = append(speakers, s)
	}
	total, cached, lost := beside.total()
	return map[string]any{
		"object": r.s.keep(&voice{Voice: v}), "name": strings.TrimSuffix(path.Base(name), ".onnx"), "bytes": total,
		"ms": milliseconds(time.Since(start)), "cached": cached, "lost": lost, "rate": v.Rate(), "kind": v.Kind(),
		"language": v.Language(), "speakers": speakers, "reference": like,
	}, nil, nil
}

// voiceIn returns the files as a file system, and the path of the voice in it: a model of Piper, the
// only file, or the folder nearest to the top that has the files of a voice. Files without a folder
// get one.
func (r *request) voiceIn(files []*file) (folder, string) {
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = f.name
	}
	slices.Sort(names)
	for _, name := range names {
		if _, found := slices.BinarySearch(names, name+".json"); found && path.Ext(name) == ".onnx" {
			return r.folder(files), name
		}
	}
	if len(names) == 1 {
		return r.folder(files), names[0]
	}
	top, _, _ := strings.Cut(names[0], "/")
	if slices.ContainsFunc(names, func(name string) bool { return !strings.HasPrefix(name, top+"/") }) {
		top = "voice"
		for _, f := range files {
			f.name = path.Join(top, f.name)
		}
	}
	beside := r.folder(files)
	voices := slices.DeleteFunc(beside.folders(), func(name string) bool { return speech.KindFS(beside, name) == "" })
	if len(voices) == 0 {
		return beside, top
	}
	return beside, voices[0]
}

// reference returns the sound that a voice is to speak like, and the name of its file: the one of
// the message, or the first in the voice's folder. If there is none, it returns the error of the
// voice.
func (r *request) reference(beside folder, voice string, none error) (s speech.Sound, name string, found bool, err error) {
	of := (*file)(nil)
	if v := r.Get("reference"); v.Truthy() {
		of = newFile(v, "the reference")
	} else if list, err := beside.ReadDir(voice); err == nil {
		for _, e := range list {
			if slices.Contains([]string{".wav", ".flac", ".mp3"}, strings.ToLower(path.Ext(e.Name()))) {
				of = beside.files[path.Join(voice, e.Name())]
				break
			}
		}
	}
	if of == nil {
		return s, "", false, none
	}
	if of.data == nil {
		if of.data, err = of.read(r); err != nil {
			return s, "", false, err
		}
	}
	if s, err = speech.ReadSound(bytes.NewReader(of.data)); err != nil {
		return s, "", false, fmt.Errorf("%s: %w", of.name, err)
	}
	return s, path.Base(of.name), true, nil
}

// speak speaks the text of the message. Each sentence is an event, when it is there.
func speak(r *request) (map[string]any, []any, error) {
	v, err := opened[*voice](r, "object")
	if err != nil {
		return nil, nil, err
	}
	v.speaks.Lock()
	defer v.speaks.Unlock()
	o := speech.SpeakOptions{Speaker: text(r.Get("speaker"), ""), Seed: uint64(number(r.Get("seed"), 0))}
	if f := r.Get("speed"); f.Type() == js.TypeNumber {
		o.Speed = f.Float()
	}
	for field, to := range map[string]**float64{"noise": &o.Noise, "noiseW": &o.NoiseW} {
		if f := r.Get(field); f.Type() == js.TypeNumber {
			x := f.Float()
			*to = &x
		}
	}
	begin := time.Now()
	var codes pace
	o.Progress = func(p speech.Progress) {
		if v.Kind() == "chatterbox" {
			codes.tell(p.Done)
		}
		r.event(map[string]any{"stage": "speak", "index": p.Index, "count": p.Count, "done": p.Done, "total": p.Most,
			"tokens": codes.all, "ms": milliseconds(time.Since(begin))})
	}
	seconds := 0.0
	for s, err := range v.Speak(r, text(r.Get("text"), ""), o) {
		if err != nil {
			return nil, nil, err
		}
		unspoken := []any{}
		for _, c := range s.Unspoken {
			unspoken = append(unspoken, c)
		}
		seconds += s.Seconds()
		samples, buffer := floats(s.Samples)
		r.event(map[string]any{
			"stage": "sentence", "samples": samples, "rate": s.Rate, "text": s.Text, "from": utf16At(r, s.From),
			"to": utf16At(r, s.To), "index": s.Index, "count": s.Count, "unspoken": unspoken, "seconds": s.Seconds(),
			"ms": milliseconds(time.Since(begin)), "tokensPerSecond": codes.second(),
		}, buffer)
	}
	return map[string]any{"seconds": seconds, "ms": milliseconds(time.Since(begin)), "tokens": codes.all,
		"tokensPerSecond": codes.second()}, nil, nil
}

// pace measures how fast a voice makes tokens.
type pace struct {
	all   int // tokens
	known int // tokens of the sentence
	timed int // tokens after the first of a sentence
	took  time.Duration
	last  time.Time
}

// tell takes note of how many tokens of a sentence are known.
func (p *pace) tell(n int) {
	now := time.Now()
	if n > 1 && n > p.known {
		p.timed++
		p.took += now.Sub(p.last)
	}
	if n > p.known {
		p.all++
	}
	p.known, p.last = n, now
}

// second returns the tokens in a second, 0 if it is not known.
func (p *pace) second() float64 {
	if p.took == 0 {
		return 0
	}
	return float64(p.timed) / p.took.Seconds()
}

// floats returns a copy of samples as a Float32Array, and its buffer.
func floats(x []float32) (array, buffer js.Value) {
	bytes := js.Global().Get("Uint8Array").New(4 * len(x))
	js.CopyBytesToJS(bytes, unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), 4*len(x)))
	buffer = bytes.Get("buffer")
	return js.Global().Get("Float32Array").New(buffer), buffer
}

// utf16At returns the place in a string of JavaScript of a byte of the message's text.
func utf16At(r *request, at int) int {
	n := 0
	for _, c := range text(r.Get("text"), "")[:at] {
		if n++; c >= 1<<16 {
			n++
		}
	}
	return n
}
