package cpu

import (
	"errors"
	"testing"

	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/runtime/op"
)

// neverSet is a flag that no device made.
type neverSet struct{}

func (neverSet) IsSet() bool { return false }
func (neverSet) Set()        {}
func (neverSet) Clear()      {}
func (neverSet) Free()       {}

// TestForeignFlag checks that a flag that commands cannot read is an error.
func TestForeignFlag(t *testing.T) {
	if _, err := new(segment).Run(neverSet{}, false); !errors.Is(err, guard.ErrInternal) {
		t.Errorf("got %v", err)
	}
	var flag op.Flag = neverSet{}
	if err := foreignFlag(flag); !errors.Is(err, guard.ErrInternal) {
		t.Errorf("got %v", err)
	}
}
