package main

import (
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"syscall/js"
	"time"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/bindings"
)

// errNetwork is the kind of errors of servers and of the way to them.
var errNetwork = errors.New("network")

// networkError is an error of that kind.
type networkError struct{ text string }

func (e networkError) Error() string        { return e.text }
func (e networkError) Is(target error) bool { return target == errNetwork }

// await returns the value of a promise. It is called from goroutines of messages only.
func await(promise js.Value) (js.Value, error) {
	type settled struct {
		value js.Value
		err   error
	}
	done := make(chan settled, 1)
	then := js.FuncOf(func(_ js.Value, args []js.Value) any {
		s := settled{}
		if len(args) > 0 {
			s.value = args[0]
		}
		done <- s
		return nil
	})
	catch := js.FuncOf(func(_ js.Value, args []js.Value) any {
		done <- settled{err: js.Error{Value: args[0]}}
		return nil
	})
	defer then.Release()
	defer catch.Release()
	promise.Call("then", then, catch)
	s := <-done
	return s.value, s.err
}

// file is a file of a message: its name, and its bytes, a Blob of them, or the URL that has them.
type file struct {
	name   string
	value  js.Value
	data   []byte // nil before the file is read
	loaded loaded
}

// loaded says where the bytes of a file came from.
type loaded struct {
	cached bool   // from the browser's cache
	lost   string // why the browser did not keep them; empty if it did, or was not asked
}

// files returns the files of a message.
func (r *request) files() ([]*file, error) {
	list := r.Get("files")
	if list.Type() != js.TypeObject || list.Length() == 0 {
		return nil, errors.New("no file is given")
	}
	files := make([]*file, list.Length())
	for i := range files {
		files[i] = newFile(list.Index(i), "model.onnx")
	}
	return files, nil
}

// newFile returns a file of a message. Otherwise is its name if it has none.
func newFile(v js.Value, otherwise string) *file {
	return &file{name: text(v.Get("name"), otherwise), value: v}
}

// read returns the bytes of a file. Progress goes to the page.
func (f *file) read(r *request) ([]byte, error) {
	tell := func(done, total int) {
		r.event(map[string]any{"stage": "load", "file": f.name, "done": done, "total": total})
	}
	if b := f.value.Get("bytes"); b.Truthy() {
		data, err := allocate(f.name, b.Get("byteLength").Int())
		if err != nil {
			return nil, err
		}
		js.CopyBytesToGo(data, js.Global().Get("Uint8Array").New(b.Get("buffer"), b.Get("byteOffset"), len(data)))
		return data, nil
	}
	if b := f.value.Get("blob"); b.Truthy() {
		return f.blob(r, b, tell)
	}
	if u := f.value.Get("url"); u.Truthy() {
		return f.fetch(r, u.String(), tell)
	}
	return nil, fmt.Errorf("%s: neither bytes nor a Blob nor a URL is given", f.name)
}

// allocate returns n bytes, or an error if that many are not left.
func allocate(name string, n int) ([]byte, error) {
	if n > bindings.Room() {
		runtime.GC()
	}
	if left := bindings.Room(); n > left {
		return nil, fmt.Errorf("%w: %s has %d MB, and a page has %d MB left", nacre.ErrMemory, name, n>>20, left>>20)
	}
	return make([]byte, n), nil
}

// piece is the size of the pieces that a Blob is read in.
const piece = 8 << 20

func (f *file) blob(r *request, blob js.Value, tell func(done, total int)) ([]byte, error) {
	data, err := allocate(f.name, blob.Get("size").Int())
	if err != nil {
		return nil, err
	}
	for at := 0; at < len(data); at += piece {
		if err := r.Err(); err != nil {
			return nil, err
		}
		end := min(at+piece, len(data))
		buffer, err := await(blob.Call("slice", at, end).Call("arrayBuffer"))
		if err != nil {
			return nil, fmt.Errorf("%s cannot be read: %s", f.name, message(err))
		}
		js.CopyBytesToGo(data[at:end], js.Global().Get("Uint8Array").New(buffer))
		tell(end, len(data))
	}
	return data, nil
}

// message returns the text of an exception.
func message(err error) string {
	var e js.Error
	if errors.As(err, &e) {
		if m := e.Get("message"); m.Truthy() {
			return m.String()
		}
	}
	return err.Error()
}

// cacheName is the name of the cache of models.
const cacheName = "nacre-models"

// fetch returns the bytes of a URL: from the browser's cache if the message asks for it and it has
// them, else from the server, and the cache then keeps them.
func (f *file) fetch(r *request, url string, tell func(done, total int)) ([]byte, error) {
	var cache js.Value
	if r.Get("keep").Truthy() {
		var err error
		if cache, err = openCache(); err != nil {
			f.loaded.lost = message(err)
		}
	}
	if cache.Truthy() {
		if found, err := await(cache.Call("match", url)); err == nil && found.Truthy() {
			f.loaded.cached = true
			return f.body(r, url, found, tell)
		}
	}
	abort := js.Global().Get("AbortController").New()
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case <-r.Done():
			abort.Call("abort")
		case <-ended:
		}
	}()
	response, err := await(js.Global().Call("fetch", url, map[string]any{"signal": abort.Get("signal")}))
	switch {
	case r.Err() != nil:
		return nil, r.Err()
	case err != nil:
		return nil, networkError{fmt.Sprintf("%s cannot be reached (%s). Check the address; its server must allow pages of "+
			"others to read it (CORS).", url, message(err))}
	case !response.Get("ok").Bool():
		return nil, networkError{fmt.Sprintf("%s: the server answers %d %s", url, response.Get("status").Int(),
			response.Get("statusText").String())}
	}
	var kept js.Value
	if cache.Truthy() {
		kept = cache.Call("put", url, response.Call("clone"))
	}
	data, err := f.body(r, url, response, tell)
	if kept.Truthy() {
		if err != nil {
			abort.Call("abort") // the copy fails, too, and nothing is kept
		}
		if _, e := await(kept); e != nil {
			f.loaded.lost = message(e)
		}
	}
	return data, err
}

func openCache() (js.Value, error) {
	caches := js.Global().Get("caches")
	if !caches.Truthy() {
		return js.Value{}, errors.New("pages have a cache on https and localhost only")
	}
	return await(caches.Call("open", cacheName))
}

// body reads the body of a response into memory of the size that its headers say. What exceeds it,
// because the body was compressed, is collected first.
func (f *file) body(r *request, url string, response js.Value, tell func(done, total int)) ([]byte, error) {
	headers := response.Get("headers")
	total, _ := strconv.Atoi(text(headers.Call("get", "content-length"), ""))
	exact := total > 0 && !headers.Call("get", "content-encoding").Truthy()
	if !exact {
		total = 0
	}
	data, err := allocate(f.name, total)
	if err != nil {
		return nil, err
	}
	var more []js.Value
	done, told := 0, time.Time{}
	reader := response.Get("body").Call("getReader")
	for {
		chunk, err := await(reader.Call("read"))
		switch {
		case r.Err() != nil:
			return nil, r.Err()
		case err != nil:
			return nil, brokenOff(url, done, total, message(err))
		}
		if chunk.Get("done").Bool() {
			break
		}
		bytes := chunk.Get("value")
		if len(more) == 0 && done+bytes.Length() <= len(data) {
			js.CopyBytesToGo(data[done:], bytes)
		} else {
			more = append(more, bytes)
		}
		done += bytes.Length()
		if now := time.Now(); now.Sub(told) > 50*time.Millisecond {
			told = now
			tell(done, total)
		}
	}
	tell(done, total)
	if len(more) == 0 {
		if done < len(data) {
			return nil, brokenOff(url, done, total, "the connection ended")
		}
		return data, nil
	}
	whole, err := allocate(f.name, done)
	if err != nil {
		return nil, err
	}
	for _, bytes := range more {
		done -= bytes.Length()
	}
	at := copy(whole, data[:done])
	for _, bytes := range more {
		at += js.CopyBytesToGo(whole[at:], bytes)
	}
	return whole, nil
}

func brokenOff(url string, done, total int, why string) error {
	of := ""
	if total > 0 {
		of = fmt.Sprintf(" of %.1f", float64(total)/1e6)
	}
	return networkError{fmt.Sprintf("%s: the server broke off after %.1f%s MB (%s). Nothing was kept; try again.", url,
		float64(done)/1e6, of, why)}
}
