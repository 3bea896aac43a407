package nacre_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre"
)

// uses is a call of every method of a session that takes a context or inputs.
var uses = map[string]func(ctx context.Context, s *nacre.Session, in map[string]*nacre.Tensor) error{
	"Run": func(ctx context.Context, s *nacre.Session, in map[string]*nacre.Tensor) error {
		_, err := s.Run(ctx, in)
		return err
	},
	"RunValues": func(ctx context.Context, s *nacre.Session, in map[string]*nacre.Tensor) error {
		_, err := s.RunValues(ctx, map[string]nacre.Value{"image": in["image"]})
		return err
	},
	"Profile": func(ctx context.Context, s *nacre.Session, in map[string]*nacre.Tensor) error {
		_, _, err := s.Profile(ctx, map[string]nacre.Value{"image": in["image"]})
		return err
	},
	"Warm": func(ctx context.Context, s *nacre.Session, _ map[string]*nacre.Tensor) error {
		return s.Warm(ctx, map[string]int{"batch": 1})
	},
	"Bound.Run": func(ctx context.Context, s *nacre.Session, in map[string]*nacre.Tensor) error {
		b, err := s.Bind(context.Background(), in)
		if err != nil {
			return err
		}
		defer b.Close()
		return b.Run(ctx)
	},
}

// TestNilContext checks that no method takes a nil context.
func TestNilContext(t *testing.T) {
	s := open(t, nacre.Options{Threads: 1})
	in := images(t, rand.New(rand.NewPCG(1, 1)), 1)
	for name, use := range uses {
		if err := use(context.Background(), s, in); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var none context.Context
		if err := use(none, s, in); !errors.Is(err, nacre.ErrOption) {
			t.Errorf("%s of a nil context: %v", name, err)
		}
	}
}

// TestClosedSession checks that no method works after Close.
func TestClosedSession(t *testing.T) {
	s := open(t, nacre.Options{Threads: 1})
	in := images(t, rand.New(rand.NewPCG(1, 1)), 1)
	b, err := s.Bind(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for name, use := range uses {
		if err := use(context.Background(), s, in); !errors.Is(err, nacre.ErrClosed) {
			t.Errorf("%s after Close: %v", name, err)
		}
	}
	if err := b.Run(context.Background()); !errors.Is(err, nacre.ErrClosed) {
		t.Errorf("Bound.Run after Close of the session: %v", err)
	}
	if _, err := s.PlanTypes(context.Background(), []nacre.Info{{Name: "image"}}); !errors.Is(err, nacre.ErrClosed) {
		t.Errorf("PlanTypes after Close: %v", err)
	}
}

// TestModelInUse closes a model, and replaces its weights, while a session needs it.
func TestModelInUse(t *testing.T) {
	m, err := nacre.Open(digits)
	if err != nil {
		t.Fatal(err)
	}
	s, err := m.NewSession(nacre.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{"Close": m.Close(), "ReplaceWeights": m.ReplaceWeights("none.hnw")} {
		if !errors.Is(err, nacre.ErrInUse) || !strings.Contains(err.Error(), digits) {
			t.Errorf("%s: %v", what, err)
		}
	}
	closeAll(t, s, m)
}

// TestMisuseSays checks that messages about wrong arguments name the mistake and the remedy.
func TestMisuseSays(t *testing.T) {
	s := open(t, nacre.Options{Threads: 1})
	half := zeros(t, nacre.Float16, 2)
	_, narrow := nacre.Data[float32](half)
	_, other := nacre.Data[int64](zeros(t, nacre.Int32, 2))
	_, none := nacre.Data[float32](nil)
	_, whole := nacre.Float32s(zeros(t, nacre.Int32, 2))
	_, misspelt := s.ZeroInputs(map[string]int{"bach": 1})
	_, reader := nacre.OpenReaderAt("upload", nil, 1)
	_, negative := nacre.OpenReaderAt("upload", strings.NewReader(""), -1)
	_, picture := nacre.DecodeImage([]byte("GIF89a"), s.Inputs()[0], nacre.ImageOptions{})
	for _, c := range []struct {
		err, kind error
		says      string
	}{
		{narrow, nacre.ErrShape, "elements are float16, not float32; Float32s converts them"},
		{other, nacre.ErrShape, "elements are int32, not int64; Tensor.Convert converts them"},
		{none, nacre.ErrShape, "the tensor is nil"},
		{whole, nacre.ErrShape, "elements are int32"},
		{misspelt, nacre.ErrOption, `"bach" and no open axis has that name; the model takes "image" float32[batch,1,8,8]`},
		{reader, nacre.ErrOption, "upload: the reader is nil"},
		{negative, nacre.ErrOption, "upload: the size -1 is negative"},
		{picture, nacre.ErrFormat, "neither PNG nor JPEG"},
	} {
		if !errors.Is(c.err, c.kind) || !strings.Contains(c.err.Error(), c.says) {
			t.Errorf("%v; want %q", c.err, c.says)
		}
	}
}
