package op_test

import (
	"github.com/nacre-ml/nacre/runtime/cpu"
	"github.com/nacre-ml/nacre/runtime/op"
)

func init() { op.Eval, op.EvalVariable = cpu.Eval, cpu.EvalVariable }
