package main

import (
	"encoding/json"
	"io"
	"reflect"

	"github.com/nacre-ml/nacre/internal/printable"
)

// writeJSON writes a value as JSON. Lists that are nil become []. Characters that could steer a
// terminal are escapes, which mean the same.
func writeJSON(w io.Writer, v any) error {
	top := reflect.New(reflect.TypeOf(v)).Elem()
	top.Set(reflect.ValueOf(v))
	emptyLists(top)
	e := json.NewEncoder(&printable.Writer{W: w, JSON: true})
	e.SetIndent("", "  ")
	return e.Encode(top.Interface())
}

// emptyLists makes nil slices in what a value holds and may be set, empty.
func emptyLists(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			emptyLists(v.Elem())
		}
	case reflect.Interface:
		if !v.IsNil() && v.CanSet() {
			held := reflect.New(v.Elem().Type()).Elem()
			held.Set(v.Elem())
			emptyLists(held)
			v.Set(held)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				emptyLists(v.Field(i))
			}
		}
	case reflect.Slice:
		if v.IsNil() && v.CanSet() {
			v.Set(reflect.MakeSlice(v.Type(), 0, 0))
		}
		for i := range v.Len() {
			emptyLists(v.Index(i))
		}
	}
}
