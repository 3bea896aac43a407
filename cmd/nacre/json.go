package main

import (
	"encoding/json"
	"io"
	"reflect"

	"github.com/nacre-ml/nacre/internal/printable"
)

// writeJSON writes a value as indented JSON. Nil lists become []. Characters that could steer a
// terminal are written as JSON escapes.
func writeJSON(w io.Writer, v any) error {
	top := reflect.New(reflect.TypeOf(v)).Elem()
	top.Set(reflect.ValueOf(v))
	emptyLists(top)
	e := json.NewEncoder(&printable.Writer{W: w, JSON: true})
	e.SetIndent("", "  ")
	return e.Encode(top.Interface())
}

// emptyLists replaces nil slices within v by empty ones, as far as they can be set.
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
