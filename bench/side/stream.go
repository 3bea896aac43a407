package side

import (
	"context"
	"errors"

	"github.com/nacre-ml/nacre"
)

// Stream is a bound stream with states that hold a number of rows, again and again.
type Stream struct {
	stream *nacre.Stream
	bound  *nacre.Bound
	inputs map[string]*nacre.Tensor
	rows   int
}

// NewStream returns a stream with the states that Ramps makes for sizes.
func NewStream(s *nacre.Session, sizes map[string]int) (*Stream, error) {
	states, err := Ramps(s, sizes)
	if err != nil {
		return nil, err
	}
	st, err := s.NewStream(context.Background(), nacre.StreamOptions{})
	if err != nil {
		return nil, err
	}
	v := &Stream{stream: st, inputs: map[string]*nacre.Tensor{}}
	for _, in := range st.Inputs() {
		v.inputs[in.Name] = states[in.Name]
		delete(states, in.Name)
	}
	for name, t := range states {
		if err := st.SetState(name, t); err != nil {
			return nil, errors.Join(err, v.Close())
		}
	}
	v.rows = st.Len()
	if v.bound, err = st.Bind(context.Background(), v.inputs); err != nil {
		return nil, errors.Join(err, v.Close())
	}
	return v, nil
}

// Run gives the stream its input once more. From time to time it truncates the states, so that
// their rows stay about as many.
func (v *Stream) Run() error {
	const most = 16
	if v.stream.Len() >= v.rows+most {
		if err := v.stream.Truncate(v.rows); err != nil {
			return err
		}
	}
	return v.bound.Run(context.Background())
}

// Close ends the stream.
func (v *Stream) Close() error {
	if v.bound != nil {
		v.bound.Close()
	}
	return v.stream.Close()
}
