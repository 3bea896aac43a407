// Command engine is the program in the worker of a page. The worker sends it messages: a call, its
// number, and arguments. It answers each with a message of that number: the result or an error, and
// events before them, such as progress. web/nacre.js has the calls as functions.
package main

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"syscall/js"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/speech"
)

// request is a message to the program.
type request struct {
	context.Context
	s      *server
	number int
	fields js.Value
}

// Get returns a field of the message.
func (r *request) Get(name string) js.Value { return r.fields.Get(name) }

// calls lists what a message may ask for, by name. The list of a result has the buffers that move to the page.
var calls = map[string]func(r *request) (result map[string]any, moved []any, err error){
	"open": openModel, "info": info, "picture": picture, "run": run, "time": timed, "stream": openStream,
	"reset": resetStream, "free": free, "memory": memory,
}

// server holds what messages opened, by number.
type server struct {
	open    map[int]closer
	last    int
	running map[int]context.CancelFunc
}

type closer interface{ Close() error }

// keep returns the number of something that was opened.
func (s *server) keep(c closer) int {
	s.last++
	s.open[s.last] = c
	return s.last
}

// opened returns what a field of the message names.
func opened[T closer](r *request, field string) (T, error) {
	v, ok := r.s.open[number(r.Get(field), 0)].(T)
	if !ok {
		return v, fmt.Errorf("there is no %s of number %v; perhaps it was freed", field, r.Get(field))
	}
	return v, nil
}

func main() {
	debug.SetGCPercent(40) // memory of a page never shrinks
	s := &server{open: map[int]closer{}, running: map[int]context.CancelFunc{}}
	receive := js.FuncOf(func(_ js.Value, args []js.Value) any {
		s.receive(args[0].Get("data"))
		return nil
	})
	js.Global().Call("addEventListener", "message", receive)
	post(map[string]any{"ready": true}, nil)
	select {}
}

// receive starts the work of a message. A stop is done at once: it ends the work of another message.
func (s *server) receive(message js.Value) {
	n := number(message.Get("number"), 0)
	if message.Get("call").String() == "stop" {
		if cancel := s.running[number(message.Get("target"), 0)]; cancel != nil {
			cancel()
		}
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.running[n] = cancel
	go func() {
		defer cancel()
		defer delete(s.running, n)
		(&request{ctx, s, n, message}).answer()
	}()
}

// answer does what the message asks for, and posts the result.
func (r *request) answer() {
	call, ok := calls[r.Get("call").String()]
	if !ok {
		r.fail(fmt.Errorf("there is no call %v", r.Get("call")))
		return
	}
	result, moved, err := r.guarded(call)
	if err == nil {
		post(map[string]any{"number": r.number, "result": result}, moved)
		return
	}
	r.fail(err)
}

// guarded does a call. An exception of the browser, as for an argument of a wrong kind, is an error.
func (r *request) guarded(call func(r *request) (map[string]any, []any, error)) (result map[string]any, moved []any, err error) {
	defer func() {
		switch e := recover().(type) {
		case nil:
		case js.Error:
			err = fmt.Errorf("%v: %s", r.Get("call"), message(e))
		default:
			panic(e)
		}
	}()
	return call(r)
}

// event posts an event of the message's work.
func (r *request) event(fields map[string]any, moved ...any) {
	post(map[string]any{"number": r.number, "event": fields}, moved)
}

func post(message map[string]any, moved []any) {
	js.Global().Call("postMessage", message, js.ValueOf(append([]any{}, moved...)))
}

// kinds lists the kinds of errors that a page tells apart.
var kinds = []struct {
	err  error
	kind string
}{
	{context.Canceled, "stopped"}, {errNetwork, "network"}, {nacre.ErrMemory, "memory"}, {nacre.ErrFormat, "format"},
	{nacre.ErrUnsupported, "unsupported"}, {nacre.ErrMissingInput, "input"}, {nacre.ErrUnknownInput, "input"},
	{nacre.ErrShape, "input"}, {speech.ErrSound, "sound"},
}

func (r *request) fail(err error) {
	kind := "other"
	for _, k := range kinds {
		if errors.Is(err, k.err) {
			kind = k.kind
			break
		}
	}
	post(map[string]any{"number": r.number, "error": map[string]any{"kind": kind, "message": err.Error()}}, nil)
}

// free closes what the message names.
func free(r *request) (map[string]any, []any, error) {
	c, err := opened[closer](r, "object")
	if err != nil {
		return nil, nil, err
	}
	delete(r.s.open, number(r.Get("object"), 0))
	return nil, nil, c.Close()
}

// memory returns the bytes that the program takes.
func memory(*request) (map[string]any, []any, error) {
	return map[string]any{"bytes": bindings.PhysicalMemory() - bindings.Room()}, nil, nil
}

// number returns a value as an integer, or otherwise if it is none.
func number(v js.Value, otherwise int) int {
	if v.Type() != js.TypeNumber {
		return otherwise
	}
	return v.Int()
}

// text returns a value as text, or otherwise if it is none.
func text(v js.Value, otherwise string) string {
	if v.Type() != js.TypeString {
		return otherwise
	}
	return v.String()
}

// keys returns the names of an object's fields.
func keys(v js.Value) []string {
	if v.Type() != js.TypeObject {
		return nil
	}
	list := js.Global().Get("Object").Call("keys", v)
	names := make([]string, list.Length())
	for i := range names {
		names[i] = list.Index(i).String()
	}
	return names
}
