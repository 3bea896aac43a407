package vulkan

// PoolBytes returns the device memory that blocks take, and what of it is in use.
func (d *Device) PoolBytes() (all, used int) {
	d.pool.mu.Lock()
	defer d.pool.mu.Unlock()
	for _, b := range d.pool.blocks {
		all, used = all+b.bytes, used+b.bytes
		for _, g := range b.gaps {
			used -= g.bytes
		}
	}
	return all, used
}

// Pipelines returns how many pipelines there are.
func (d *Device) Pipelines() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.pipelines)
}
