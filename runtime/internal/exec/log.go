package exec

import (
	"context"
	"log/slog"
	"time"

	"github.com/nacre-ml/nacre/runtime/internal/plan"
)

// tells reports whether somebody wants to know of events of this level.
func (e *Executor) tells(ctx context.Context, level slog.Level) bool {
	return e.log != nil && e.log.Enabled(ctx, level)
}

// TellPlan logs a plan that no executor has logged before, and the nodes in it that an accelerator
// leaves to the CPU. Runs log their plans, too.
func (e *Executor) TellPlan(ctx context.Context, pl *plan.Plan) {
	if !e.tells(ctx, slog.LevelInfo) || pl.Told() {
		return
	}
	stay, first := map[string]int{}, slog.Attr{}
	count := 0
	for step, reason := range pl.Stayed() {
		if count++; count == 1 {
			node, op := slog.String("node", step.Label()), slog.String("op", step.OpName())
			first = slog.Group("first", node, op, slog.String("reason", reason))
		}
		stay[step.OpName()]++
	}
	if e.tells(ctx, slog.LevelDebug) {
		e.log.LogAttrs(ctx, slog.LevelDebug, "plan made", slog.Duration("took", pl.Took()),
			slog.Int("steps", len(pl.Steps)), slog.Int("bytes", pl.PeakBytes()))
	}
	if count > 0 {
		e.log.LogAttrs(ctx, slog.LevelInfo, "nodes left to the CPU", slog.Int("nodes", count),
			slog.Int("steps", len(pl.Steps)), slog.Any("ops", stay), first)
	}
}

// tellWait counts and logs a wait that began then.
func (r *run) tellWait(what string, begin time.Time) {
	waited := time.Since(begin)
	r.counts.waited.Add(int64(waited))
	if r.tells(r.ctx, slog.LevelDebug) {
		r.log.LogAttrs(r.ctx, slog.LevelDebug, "run waited", slog.String("for", what), slog.Duration("waited", waited))
	}
}

// tellRefusal logs a run that does not begin.
func (r *run) tellRefusal(err error) {
	if r.tells(r.ctx, slog.LevelWarn) {
		r.log.LogAttrs(r.ctx, slog.LevelWarn, "run refused", slog.Any("error", err))
	}
}
