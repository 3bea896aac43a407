package stages

import (
	"context"
	"testing"
	"time"
)

func TestStages(t *testing.T) {
	var s Times
	ctx := With(t.Context(), &s)
	start := time.Now()
	outer := From(ctx).Begin("outer")
	for range 2 {
		From(ctx).Begin("inner")()
	}
	outer()
	took := time.Since(start)
	list := s.List()
	if len(list) != 2 || list[0].Name != "inner" || list[0].Calls != 2 || list[1].Name != "outer" || list[1].Calls != 1 {
		t.Fatalf("stages are %v; want inner twice, then outer once", list)
	}
	if sum := list[0].Time + list[1].Time; sum > took || list[1].Time < 0 {
		t.Errorf("stages took %v together, outer %v of it, in %v", sum, list[1].Time, took)
	}
}

func TestNothingMeasured(t *testing.T) {
	s := From(context.Background())
	if s != nil {
		t.Fatalf("a context without a measurement carries %v", s)
	}
	s.Begin("stage")()
}
