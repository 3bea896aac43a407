package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/cmd/nacre/demo"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

func TestDemo(t *testing.T) {
	code, stdout, stderr := call("demo", "--ascii")
	if code != 0 {
		t.Fatalf("exit code %d\n%s%s", code, stdout, stderr)
	}
	// Confidences and times vary in their last digits.
	stdout = regexp.MustCompile(`\([0-9.]+ %\) *`).ReplaceAllString(stdout, "(C %) ")
	golden(t, "demo.txt", regexp.MustCompile(`takes [^ ]+`).ReplaceAllString(stdout, "takes T"))
}

func TestDemoOwnPicture(t *testing.T) {
	code, stdout, stderr := call("demo", filepath.Join("demo", "pictures", "3-a.png"))
	if code != 0 || !regexp.MustCompile(`3-a\.png: 3 \(`).MatchString(stdout) {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
}

// TestDemoAccuracy runs the network on the digits that train.py held back from training.
func TestDemoAccuracy(t *testing.T) {
	python := filepath.Join("..", "..", ".venv", "bin", "python")
	if _, err := os.Stat(python); err != nil {
		testenv.Skip(t, "there is no .venv with scikit-learn (scripts/setup-test.sh makes it)")
	}
	dir := t.TempDir()
	cmd := exec.Command(python, "-B", filepath.Join("demo", "train.py"), "--held", dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	images, answers := wrapped(t, stored(t, filepath.Join(dir, "image.npy"))),
		wrapped(t, stored(t, filepath.Join(dir, "answer.npy")))
	want, err := nacre.Data[int64](answers)
	if err != nil {
		t.Fatal(err)
	}
	m, err := nacre.Decode("digits.onnx", demo.Model)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	s, err := m.NewSession(nacre.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	out, err := s.Run(context.Background(), map[string]*nacre.Tensor{"image": images})
	if err != nil {
		t.Fatal(err)
	}
	scores, err := nacre.Data[float32](out["probabilities"])
	if err != nil {
		t.Fatal(err)
	}
	right := 0
	for i, digit := range want {
		best := 0
		for d := range 10 {
			if scores[10*i+d] > scores[10*i+best] {
				best = d
			}
		}
		if best == int(digit) {
			right++
		}
	}
	if right != 358 || len(want) != 360 {
		t.Errorf("%d of %d right; demo/README.md says 358 of 360", right, len(want))
	}
}

func stored(t *testing.T, path string) *tensor.Tensor {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return npyTensor(t, data)
}
