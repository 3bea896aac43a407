package nacre

import (
	"bytes"
	"errors"
	"math"
	"strconv"
)

// scanner reads the elements of a list in valid JSON text one by one.
type scanner struct {
	rest []byte // what follows the current element
	text []byte // the current element
	at   int    // its index
	err  error
}

// next moves to the next element. It returns false at the end of the list.
func (s *scanner) next() bool {
	s.rest = bytes.TrimLeft(s.rest, " \t\r\n")
	if len(s.rest) == 0 {
		return false
	}
	end := bytes.IndexByte(s.rest, ',')
	switch s.rest[0] {
	case '[':
		end = bytes.IndexByte(s.rest, ']') + 1
	case '"':
		if end = 1 + bytes.IndexByte(s.rest[1:], '"') + 1; end == 1 {
			end = -1
		}
	}
	if end < 0 {
		end = len(s.rest)
	}
	s.text, s.rest = bytes.TrimRight(s.rest[:end], " \t\r\n"), bytes.TrimLeft(s.rest[end:], " \t\r\n")
	if len(s.rest) > 0 {
		s.rest = s.rest[1:] // the comma
	}
	return true
}

func (s *scanner) fail(what string) {
	s.err = markf(ErrFormat, "data of a tensor of JSON: element %d, %.40s, is %s", s.at, s.text, what)
}

// float returns a number, rounded to this many bits, or one of the strings for what JSON has no
// numbers for.
func (s *scanner) float(bits int) float64 {
	text := string(s.text)
	switch text {
	case `"NaN"`, `"Infinity"`, `"-Infinity"`:
		text = text[1 : len(text)-1]
	default:
		if text == "" || text[0] != '-' && (text[0] < '0' || text[0] > '9') {
			s.fail(`no number, and none of "NaN", "Infinity" and "-Infinity"`)
			return 0
		}
	}
	v, err := strconv.ParseFloat(text, bits)
	switch {
	case errors.Is(err, strconv.ErrRange):
		s.fail("out of range")
	case err != nil:
		s.fail("no number")
	}
	return v
}

// narrow returns a number as a float of 16 bits.
func narrow[T interface{ Float32() float32 }](s *scanner, to func(float32) T) T {
	v := s.float(32)
	x := to(float32(v))
	if math.IsInf(float64(x.Float32()), 0) && !math.IsInf(v, 0) {
		s.fail("out of range")
	}
	return x
}

// complex returns a number of two parts.
func (s *scanner) complex(bits int) complex128 {
	if s.text[0] != '[' || s.text[len(s.text)-1] != ']' {
		s.fail("no list of a real and an imaginary part")
		return 0
	}
	parts := &scanner{rest: s.text[1 : len(s.text)-1], at: s.at}
	var v [2]float64
	for i := range v {
		if !parts.next() {
			s.fail("no list of a real and an imaginary part")
			return 0
		}
		if v[i] = parts.float(bits); parts.err != nil {
			s.err = parts.err
			return 0
		}
	}
	if parts.next() {
		s.fail("no list of a real and an imaginary part")
	}
	return complex(v[0], v[1])
}

func (s *scanner) bool() bool {
	switch string(s.text) {
	case "true":
		return true
	case "false":
	default:
		s.fail("neither true nor false")
	}
	return false
}

func (s *scanner) int(bits int) int64 {
	v, err := strconv.ParseInt(string(s.text), 10, bits)
	s.whole(err, bits)
	return v
}

func (s *scanner) uint(bits int) uint64 {
	v, err := strconv.ParseUint(string(s.text), 10, bits)
	s.whole(err, bits)
	return v
}

// whole reports an error of parsing an integer.
func (s *scanner) whole(err error, bits int) {
	switch {
	case errors.Is(err, strconv.ErrRange):
		s.fail("out of the range of " + strconv.Itoa(bits) + " bits")
	case err != nil:
		s.fail("no integer of the element type")
	}
}
