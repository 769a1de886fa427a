//go:build !linux

package main

import (
	"errors"
	"os"
	"syscall"
)

// supported says whether this system has what examining a node needs.
const supported = false

var ignoredSignals = []os.Signal{syscall.SIGPIPE, syscall.SIGHUP}

type child struct {
	process *os.Process
	in, out *os.File
}

func startChild(string) (*child, error) { return nil, errors.ErrUnsupported }
func (c *child) kill()                  {}
func (c *child) close()                 {}
func (c *child) fate(err error) error   { return err }
func shortage() string                  { return "" }
func stepAside()                        {}
func lowerPriority()                    {}
func protectDescriptors()               {}
func takeName()                         {}
func enterHost(...string) error         { return nil }
func waitMain() int                     { select {} }
func absolute(path string) string       { return path }
