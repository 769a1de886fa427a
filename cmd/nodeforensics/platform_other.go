//go:build !linux

package main

import (
	"errors"
	"os"
)

// supported says whether this system has what examining a node needs.
const supported = false

type child struct {
	process *os.Process
	in, out *os.File
}

func startChild(string) (*child, error) { return nil, errors.ErrUnsupported }
func (c *child) close()                 {}
func (c *child) fate(err error) error   { return err }
func stepAside()                        {}
func protectDescriptors()               {}
func takeName()                         {}
func absolute(path string) string       { return path }
