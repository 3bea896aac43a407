package exec

// KeepNoResults makes the executor allocate every result anew.
func (e *Executor) KeepNoResults() { e.memory = newRecycler(1, nil) }
