//go:build !unix

package binio

const openFlags = 0
