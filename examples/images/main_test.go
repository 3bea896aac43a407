package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/testenv"
)

// TestImages asks for the digit in a picture while the model is opened again.
func TestImages(t *testing.T) {
	testenv.Need(t, bindings.Available())
	demo := filepath.Join(testenv.Root(t), "cmd", "nacre", "demo")
	labels := filepath.Join(t.TempDir(), "labels.txt")
	if err := os.WriteFile(labels, []byte("zero\none\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &service{file: filepath.Join(demo, "digits.onnx"), labels: labels}
	if err := s.load(); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s)
	defer server.Close()
	picture, err := os.ReadFile(filepath.Join(demo, "pictures", "7-a.png"))
	if err != nil {
		t.Fatal(err)
	}
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			code, answers := post(t, server.URL, picture)
			if code != http.StatusOK || len(answers) != best {
				t.Errorf("status %d, %d answers", code, len(answers))
			}
		})
	}
	if err := s.load(); err != nil {
		t.Error(err)
	}
	callers.Wait()
	if code, _ := post(t, server.URL, []byte("no picture")); code != http.StatusBadRequest {
		t.Errorf("status %d for what is no picture", code)
	}
	s.file = filepath.Join(demo, "pictures", "7-a.png")
	if err := s.load(); err == nil {
		t.Error("a picture was loaded as a model")
	}
	if code, _ := post(t, server.URL, picture); code != http.StatusOK {
		t.Errorf("status %d after a model that could not be loaded", code)
	}
}

func post(t *testing.T, url string, body []byte) (int, []answer) {
	response, err := http.Post(url, "image/png", bytes.NewReader(body))
	if err != nil {
		t.Error(err)
		return 0, nil
	}
	defer response.Body.Close()
	var list []answer
	if response.StatusCode == http.StatusOK {
		if err := json.NewDecoder(response.Body).Decode(&list); err != nil {
			t.Error(err)
		}
	}
	return response.StatusCode, list
}
