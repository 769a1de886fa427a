// Command nodeforensics examines a sick Kubernetes node and writes a report that names the culprit.
//
//	nodeforensics          examine this node; run as root
//	nodeforensics --help   list the other commands, for what was saved and for single questions
//
// It only reads. Exit status: 0 done, 1 something failed (what could be read is still reported), 2 wrong usage, 3 see --fail-on.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics/redact"
)

// The exit statuses.
const (
	exitDone    = 0
	exitFailed  = 1
	exitUsage   = 2
	exitFinding = 3
)

// version is set by the linker (-X main.version=1.2.3); otherwise the module's version is shown.
var version string

func main() {
	time.Local = time.UTC // for whoever does not ask for localZone: nothing is opened for them
	if len(os.Args) > 1 {
		switch os.Args[1] { // the roles of this program's own children; see parent.go, writer.go and input.go
		case childArg:
			os.Exit(childMain(os.Stdin, os.Stdout))
		case writerArg:
			limitMemory(nodeMemory, nodeGC)
			os.Exit(writerMain(os.Stdin, os.Stdout))
		case readerArg:
			os.Exit(readerMain(os.Stdin, os.Stdout))
		case waitName:
			if len(os.Args) == 2 { // without the threads and the memory of a command
				os.Exit(waitMain())
			}
		}
	}
	// A reader that goes away (| head) must not end the program before the files are written, and neither must the
	// end of the login session, a limit of file sizes (which then is an error), or a terminal of which others are in front.
	signal.Ignore(ignoredSignals...)
	procs := runtime.GOMAXPROCS(1) // the fewest threads while they are counted
	if why := shortage(); why != "" {
		_, _ = os.Stderr.WriteString("nodeforensics: " + why + "\n")
		os.Exit(exitFailed)
	}
	protectDescriptors()
	reserveThreads(procs)
	limitMemory(readMemory, readGC)
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run is main without the process: arguments in, exit status out.
func run(args []string, stdout, stderr *os.File) int {
	a := &app{out: newTerminal(stdout), err: newTerminal(stderr)}
	defer func() { _ = a.err.flush() }()
	root := a.rootCommand()
	root.SetArgs(pluginArgs(os.Args[0], args, func(name string) bool { return isCommand(root, name) }))
	cmd, err := root.ExecuteC()
	a.progress.stop()
	if lost := a.out.flush(); lost != nil && !errors.Is(lost, syscall.EPIPE) { // a reader that has gone wants no more
		a.complain("standard output: %v", lost)
	}
	if a.wasInterrupted() && a.status.Load() == exitDone {
		a.status.Store(exitFailed)
	}
	var usage usageError
	switch {
	case err == nil:
		return int(a.status.Load())
	case errors.As(err, &usage):
		a.complain("%v", err)
		a.err.printf("See: %s --help\n", cmd.CommandPath())
		return exitUsage
	}
	a.complain("%v", err)
	return exitFailed
}

// app is one invocation.
type app struct {
	out, err *terminal
	status   atomic.Int32 // what was given up at the deadline may still fail beside the end of the program
	left     leftovers
	signals  interrupts
	progress progress

	verbose, quiet, noColor bool
	lost                    bool // files could not be written where they were wanted
}

// complain is warn, and makes the exit status 1; the work goes on.
func (a *app) complain(format string, args ...any) {
	a.warn(format, args...)
	a.status.Store(exitFailed)
}

// warn prints one line, in which names of the node are safe to look at and secrets are masked.
func (a *app) warn(format string, args ...any) {
	key, _ := newRedactKey() // without one, guesses could be tried against the placeholder
	a.err.printf("nodeforensics: %s\n", printable(redact.New(key).Text("terminal", fmt.Sprintf(format, args...))))
}

// usageError is a mistake on the command line.
type usageError struct{ error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }
