package exec

// KeepNoResults has memory made for every result: none comes back.
func (e *Executor) KeepNoResults() { e.memory = newRecycler(1, nil) }
