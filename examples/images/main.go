// Command images serves a classifier of pictures over HTTP.
//
//	images [-address :8080] [-labels labels.txt] model.onnx
//	curl --data-binary @cat.jpg localhost:8080
//
// The body of a request is a PNG or JPEG file. The answer has the five best classes. If another file
// takes the model's place, it is opened; requests under way end with the old one.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nacre-ml/nacre"
)

func main() {
	address := flag.String("address", ":8080", "where to listen")
	labels := flag.String("labels", "", "file with a class on each line")
	flag.Parse()
	if flag.NArg() != 1 {
		log.Fatal("usage: images [-address :8080] [-labels labels.txt] model.onnx")
	}
	s := &service{file: flag.Arg(0), labels: *labels}
	if err := s.load(); err != nil {
		log.Fatal(err)
	}
	go s.watch(time.Second)
	log.Fatal(http.ListenAndServe(*address, s))
}

const largest, best = 16 << 20, 5 // bytes of a picture, and classes of an answer

// service answers with the model that was loaded last.
type service struct {
	file, labels string
	now          *loaded
	lock         sync.RWMutex // held for reading by requests
}

type loaded struct {
	model   *nacre.Model
	session *nacre.Session
	classes []string
}

type answer struct {
	Class string  `json:"class"`
	Score float32 `json:"score"`
}

// load opens the model and closes the former one once no request uses it.
func (s *service) load() error {
	next := &loaded{}
	if s.labels != "" {
		text, err := os.ReadFile(s.labels)
		if err != nil {
			return err
		}
		next.classes = strings.Split(strings.TrimSpace(string(text)), "\n")
	}
	var err error
	if next.model, err = nacre.Open(s.file); err != nil {
		return err
	}
	next.session, err = next.model.NewSession(nacre.Options{Threads: 1, MaxWaiting: 100})
	if err != nil {
		return errors.Join(err, next.model.Close())
	}
	s.lock.Lock()
	former := s.now
	s.now = next
	s.lock.Unlock()
	if former == nil {
		return nil
	}
	return errors.Join(former.session.Close(), former.model.Close())
}

// watch loads the model when its file is another one.
func (s *service) watch(every time.Duration) {
	before, _ := os.Stat(s.file)
	for range time.Tick(every) {
		now, err := os.Stat(s.file)
		if err != nil || os.SameFile(before, now) {
			continue
		}
		before = now
		if err := s.load(); err != nil {
			log.Print(err) // the old model goes on
		}
	}
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var answers []answer
	picture, err := io.ReadAll(http.MaxBytesReader(w, r.Body, largest))
	if err == nil {
		answers, err = s.classify(r.Context(), picture)
	}
	switch {
	case errors.Is(err, nacre.ErrFormat), errors.Is(err, nacre.ErrUnsupported):
		http.Error(w, err.Error(), http.StatusBadRequest)
	case errors.Is(err, nacre.ErrBusy):
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	default:
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(answers)
	}
}

func (s *service) classify(ctx context.Context, picture []byte) ([]answer, error) {
	s.lock.RLock()
	defer s.lock.RUnlock()
	in := s.now.session.Inputs()[0]
	x, err := nacre.DecodeImageContext(ctx, picture, in, nacre.ImageOptions{Fit: nacre.FitCrop})
	if err != nil {
		return nil, err
	}
	outputs, err := s.now.session.Run(ctx, map[string]*nacre.Tensor{in.Name: x})
	if err != nil {
		return nil, err
	}
	scores, err := nacre.Float32s(outputs[s.now.session.Outputs()[0].Name])
	list := make([]answer, len(scores))
	for i, score := range scores {
		list[i] = answer{fmt.Sprint(i), score}
		if i < len(s.now.classes) {
			list[i].Class = s.now.classes[i]
		}
	}
	slices.SortStableFunc(list, func(a, b answer) int { return cmp.Compare(b.Score, a.Score) })
	return list[:min(best, len(list))], err
}
