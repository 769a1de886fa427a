// Package testgc lets tests take more memory and less time. It is for tests only.
package testgc

import (
	"flag"
	"os"
	"runtime/debug"
	"testing"
)

// Run runs the tests of a package that makes much which is soon garbage: collected at four times the memory that is in use instead of
// at twice, it costs a quarter less time. A benchmark is to show what users get.
func Run(m *testing.M) {
	flag.Parse()
	if flag.Lookup("test.bench").Value.String() == "" {
		debug.SetGCPercent(400)
	}
	os.Exit(m.Run())
}
