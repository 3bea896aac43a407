#!/usr/bin/env bash
# A module outside this tree that requires this one, and has it in its vendor folder, builds with
# a plain go build and runs a model. From this tree it would compile the files that tests do.
set -euo pipefail
cd "$(dirname "$0")/.."
top=$PWD
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/app"
cp cmd/nacre/demo/digits.onnx "$tmp/app/"
cd "$tmp/app"

cat >main.go <<'GO'
// Command app runs a model with nothing but the public interface.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/nacre-ml/nacre"
)

func main() {
	log.SetFlags(0)
	m, err := nacre.Open("digits.onnx")
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	s, err := m.NewSession(nacre.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	in, err := s.ZeroInputs(map[string]int{"batch": 1})
	if err != nil {
		log.Fatal(err)
	}
	out, err := s.Run(context.Background(), in)
	if err != nil {
		log.Fatal(err)
	}
	p, err := nacre.Data[float32](out["probabilities"])
	if err != nil {
		log.Fatal(err)
	}
	var sum float32
	for _, v := range p {
		sum += v
	}
	fmt.Printf("%d probabilities, sum %.3f\n", len(p), sum)
}
GO
cat >go.mod <<MOD
module example.org/app

go $(sed -n 's/^go //p' "$top/go.mod")

require github.com/nacre-ml/nacre v0.0.0

replace github.com/nacre-ml/nacre => $top
MOD
cp "$top/go.sum" . 2>/dev/null || true

go mod tidy
go mod vendor
go build -o app .
want="10 probabilities, sum 1.000"
got=$(./app)
[ "$got" = "$want" ] || { echo "the program printed \"$got\", not \"$want\"" >&2; exit 1; }
