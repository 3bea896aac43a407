package nacre_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// A service shares one session among all its requests. Cancelling a request ends its run. If too
// many runs wait already, a request is refused and the client may try again later.
func Example_service() {
	model, err := nacre.Open("cmd/nacre/demo/digits.onnx")
	check(err)
	defer model.Close()
	session, err := model.NewSession(nacre.Options{Threads: 1, MemoryLimit: 64 << 20, MaxWaiting: 100})
	check(err)
	defer session.Close()
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var pixels []float32
		if err := json.NewDecoder(io.LimitReader(r.Body, 1<<16)).Decode(&pixels); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		scores, err := recognise(r.Context(), session, pixels)
		switch {
		case errors.Is(err, nacre.ErrShape):
			http.Error(w, err.Error(), http.StatusBadRequest)
		case errors.Is(err, nacre.ErrBusy):
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		case err != nil:
			http.Error(w, err.Error(), http.StatusInternalServerError)
		default:
			fmt.Fprintf(w, "a seven, with probability %.2f", scores[7])
		}
	}))
	defer service.Close()
	picture, err := json.Marshal(seven)
	check(err)
	for _, body := range []string{string(picture), "[1, 2, 3]"} {
		response, err := http.Post(service.URL, "application/json", strings.NewReader(body))
		check(err)
		text, err := io.ReadAll(response.Body)
		check(err)
		response.Body.Close()
		fmt.Println(response.StatusCode, strings.TrimSpace(string(text)))
	}
	stats := session.Stats()
	fmt.Println(stats.Runs, "run,", stats.Waiting, "waiting,", stats.Refused, "refused")
	// Output:
	// 200 a seven, with probability 0.99
	// 400 shape [1,1,8,8] has 64 elements, not 3
	// 1 run, 0 waiting, 0 refused
}

func recognise(ctx context.Context, s *nacre.Session, pixels []float32) ([]float32, error) {
	image, err := nacre.NewTensor(pixels, 1, 1, 8, 8)
	if err != nil {
		return nil, err
	}
	outputs, err := s.Run(ctx, map[string]*nacre.Tensor{"image": image})
	if err != nil {
		return nil, err
	}
	return nacre.Data[float32](outputs["probabilities"])
}

// Many goroutines use one session. Its plans are made before they start.
func Example_callers() {
	model, err := nacre.Open("cmd/nacre/demo/digits.onnx")
	check(err)
	defer model.Close()
	session, err := model.NewSession(nacre.Options{Threads: 1, MemoryLimit: 64 << 20})
	check(err)
	defer session.Close()
	check(session.Warm(context.Background(), map[string]int{"batch": 1}))
	var callers sync.WaitGroup
	var sevens atomic.Int64
	for range 100 {
		callers.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			scores, err := recognise(ctx, session, seven)
			check(err)
			if scores[7] > 0.9 {
				sevens.Add(1)
			}
		})
	}
	callers.Wait()
	fmt.Println(sevens.Load(), "sevens")
	// Output: 100 sevens
}

// A model that listens returns its state with every answer, and reads it again with the next piece
// of sound. A stream keeps the state. Each of several concurrent streams has its own.
func Example_stream() {
	model, err := nacre.Decode("listener.onnx", listener())
	check(err)
	defer model.Close()
	fmt.Println(model.States())
	session, err := model.NewSession(nacre.Options{Threads: 1})
	check(err)
	defer session.Close()
	stream, err := session.NewStream(context.Background(), nacre.StreamOptions{})
	check(err)
	defer stream.Close()
	fmt.Println(stream.Inputs())
	for _, loudness := range []float32{0, 4, 4, 0} {
		sound, err := nacre.NewTensor([]float32{loudness, loudness}, 2)
		check(err)
		outputs, err := stream.Run(context.Background(), map[string]*nacre.Tensor{"sound": sound})
		check(err)
		level, err := nacre.Data[float32](outputs["level"])
		check(err)
		fmt.Println(level)
	}
	// Output:
	// [{state stateN -1}]
	// [sound float32[2]]
	// [0 0]
	// [2 2]
	// [3 3]
	// [1.5 1.5]
}

// listener returns a file with level = stateN = (sound + state) / 2.
func listener() []byte {
	pair := graph.TensorOf(tensor.F32, graph.Dims{graph.Known(2)})
	half, err := tensor.From([]float32{0.5})
	check(err)
	return encoded(&graph.Graph{
		Inputs:       []*graph.Value{{Name: "sound", Type: pair}, {Name: "state", Type: pair}},
		Outputs:      []*graph.Value{{Name: "level", Type: pair}, {Name: "stateN", Type: pair}},
		Initializers: []*graph.Initializer{{Name: "half", Tensor: half}},
		Nodes: []*graph.Node{
			standardNode("Add", "sound state", "sum"), standardNode("Mul", "sum half", "level"), standardNode("Mul", "sum half", "stateN"),
		},
	})
}

// A model that generates reads a cache of earlier tokens, which grows with every run. A stream
// keeps the cache in memory with room, so a run is given new tokens only.
func Example_generation() {
	model, err := nacre.Decode("counter.onnx", counter())
	check(err)
	defer model.Close()
	session, err := model.NewSession(nacre.Options{Threads: 1})
	check(err)
	defer session.Close()
	stream, err := session.NewStream(context.Background(), nacre.StreamOptions{})
	check(err)
	defer stream.Close()
	step := func(s *nacre.Stream, token *nacre.Tensor) *nacre.Tensor {
		outputs, err := s.Run(context.Background(), map[string]*nacre.Tensor{"token": token})
		check(err)
		fmt.Println(s.Len(), outputs["next"].Text(0))
		return outputs["next"]
	}
	token, err := nacre.NewTensor([]int64{1}, 1)
	check(err)
	for range 3 {
		token = step(stream, token)
	}
	beam, err := stream.Fork() // continues on its own with a copy of the state
	check(err)
	defer beam.Close()
	step(beam, token)
	check(stream.Truncate(1)) // drops all tokens but the first
	step(stream, token)
	// Output:
	// 1 1
	// 2 2
	// 3 4
	// 4 8
	// 2 5
}

// A loop that generates gives each output of a stream to the next run.
func Example_tokens() {
	model, err := nacre.Decode("counter.onnx", counter())
	check(err)
	defer model.Close()
	session, err := model.NewSession(nacre.Options{Threads: 1})
	check(err)
	defer session.Close()
	stream, err := session.NewStream(context.Background(), nacre.StreamOptions{})
	check(err)
	defer stream.Close()
	token, err := nacre.NewTensor([]int64{1}, 1)
	check(err)
	for range 4 {
		outputs, err := stream.Run(context.Background(), map[string]*nacre.Tensor{"token": token})
		check(err)
		token = outputs["next"]
	}
	fmt.Println(stream.Len(), "tokens, then", token.Text(0))
	// Output: 4 tokens, then 8
}

// counter returns a file with present = past tokens and token, next = their sum.
func counter() []byte {
	one := graph.TensorOf(tensor.I64, graph.Dims{graph.Known(1)})
	return encoded(&graph.Graph{
		Inputs:  []*graph.Value{{Name: "token", Type: one}, {Name: "past_tokens", Type: graph.TensorOf(tensor.I64, graph.Dims{graph.Symbol("past")})}},
		Outputs: []*graph.Value{{Name: "present_tokens", Type: graph.TensorOf(tensor.I64, graph.Dims{graph.Symbol("total")})}, {Name: "next"}},
		Nodes: []*graph.Node{
			standardNode("Concat", "past_tokens token", "present_tokens", &graph.Attr{Name: "axis", Kind: graph.AttrInt}),
			standardNode("ReduceSum", "present_tokens", "next"),
		},
	})
}
