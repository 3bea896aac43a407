// Package jsonobject writes JSON objects with members in a given order.
package jsonobject

import "encoding/json"

// Marshal returns a JSON object of n members, in the order of i.
func Marshal(n int, member func(i int) (key string, value any)) ([]byte, error) {
	b := []byte{'{'}
	for i := range n {
		key, value := member(i)
		name, err := json.Marshal(key)
		if err != nil {
			return nil, err
		}
		data, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, name...), ':'), data...)
	}
	return append(b, '}'), nil
}
