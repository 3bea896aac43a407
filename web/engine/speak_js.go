package main

import (
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall/js"
	"time"
	"unsafe"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/speech"
)

// folder is the files of a voice in memory, with the folders that their names have.
type folder struct{ files nacre.Files }

// Open opens a file.
func (f folder) Open(name string) (fs.File, error) { return f.files.Open(name) }

// ReadDir lists a folder.
func (f folder) ReadDir(name string) ([]fs.DirEntry, error) {
	var list []fs.DirEntry
	for file := range f.files {
		if path.Dir(file) != name {
			continue
		}
		info, err := fs.Stat(f.files, file)
		if err != nil {
			return nil, err
		}
		list = append(list, fs.FileInfoToDirEntry(info))
	}
	if list == nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, nil
}

// Stat describes a file or a folder.
func (f folder) Stat(name string) (fs.FileInfo, error) {
	if info, err := fs.Stat(f.files, name); err == nil {
		return info, nil
	}
	if _, err := f.ReadDir(name); err != nil {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
	}
	return folderInfo(name), nil
}

// folderInfo describes a folder of this name.
type folderInfo string

func (i folderInfo) Name() string     { return path.Base(string(i)) }
func (folderInfo) Size() int64        { return 0 }
func (folderInfo) Mode() fs.FileMode  { return fs.ModeDir | 0o555 }
func (folderInfo) ModTime() time.Time { return time.Time{} }
func (folderInfo) IsDir() bool        { return true }
func (folderInfo) Sys() any           { return nil }

func init() { calls["voice"], calls["speak"] = openVoice, speak }

// openVoice reads the files of the message as a voice: the first, with the file .json beside it, or,
// if the message names a folder, all of them.
func openVoice(r *request) (map[string]any, []any, error) {
	files, err := r.files()
	if err != nil {
		return nil, nil, err
	}
	start := time.Now()
	beside, total, err := r.read(files)
	if err != nil {
		return nil, nil, err
	}
	name := files[0].name
	if r.Get("folder").Truthy() {
		name = "."
	}
	r.event(map[string]any{"stage": "prepare"})
	v, err := speech.OpenFS(folder{beside}, name, speech.Options{Session: nacre.Options{Threads: 1}})
	if err != nil {
		return nil, nil, err
	}
	speakers := []any{}
	for _, s := range v.Speakers() {
		speakers = append(speakers, s)
	}
	return map[string]any{
		"object": r.s.keep(v), "bytes": total, "ms": milliseconds(time.Since(start)), "cached": files[0].loaded.cached,
		"lost": files[0].loaded.lost, "rate": v.Rate(), "kind": v.Kind(), "language": v.Language(), "speakers": speakers,
	}, nil, nil
}

// speak speaks the text of the message. Each sentence is an event, when it is there.
func speak(r *request) (map[string]any, []any, error) {
	v, err := opened[*speech.Voice](r, "object")
	if err != nil {
		return nil, nil, err
	}
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
	o.Progress = func(p speech.Progress) {
		r.event(map[string]any{"stage": "speak", "index": p.Index, "count": p.Count, "done": p.Done, "total": p.Most,
			"ms": milliseconds(time.Since(begin))})
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
			"ms": milliseconds(time.Since(begin)),
		}, buffer)
	}
	return map[string]any{"seconds": seconds, "ms": milliseconds(time.Since(begin))}, nil, nil
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
