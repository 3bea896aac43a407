//go:build !unix

package beneath

const openFlags = 0
