package main

import (
	"cmp"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"
)

// interrupts are SIGINT and SIGTERM, from when the first of them must no longer just end the program.
type interrupts struct {
	once  sync.Once
	first chan struct{}
	note  string // what is said then; empty is that a report will be written
}

// sameInterrupt is how soon after the first one a further signal is the same: timeout(1) sends its own twice, to the
// process and to its group.
const sameInterrupt = 300 * time.Millisecond

// interrupts returns a channel that is closed when somebody wants the program to end with what it has. When they want so
// once more it ends at once, wherever it is, and says what it leaves.
func (a *app) interrupts() <-chan struct{} {
	a.signals.once.Do(func() {
		a.signals.first = make(chan struct{})
		received := make(chan os.Signal, 2)
		signal.Notify(received, os.Interrupt, syscall.SIGTERM)
		go func() {
			<-received
			at := time.Now()
			a.note("%s", cmp.Or(a.signals.note, "interrupted: writing the report with what was collected; interrupt again to end at once"))
			close(a.signals.first)
			for range received {
				if time.Since(at) > sameInterrupt {
					a.leave()
				}
			}
		}()
	})
	return a.signals.first
}

// wasInterrupted says whether the program has been told to end.
func (a *app) wasInterrupted() bool {
	select {
	case <-a.signals.first:
		return true
	default:
		return false
	}
}

// leave ends the program. The terminal may be stopped, and then hears nothing.
func (a *app) leave() {
	said := make(chan struct{})
	go func() {
		_, _ = a.err.file.WriteString("nodeforensics: interrupted again: " + printable(a.left.String()) + "\n")
		close(said)
	}()
	select {
	case <-said:
	case <-time.After(patience):
	}
	os.Exit(exitFailed)
}

// leftovers are what the program leaves if it is ended now.
type leftovers struct {
	mu      sync.Mutex
	files   []string
	process string
}

func (l *leftovers) collecting(pid int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.process = fmt.Sprintf("; the collecting process (pid %d) ends, too, unless it is blocked in the kernel", pid)
}

func (l *leftovers) writing(dir string, pid int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if pid != os.Getpid() {
		l.process = fmt.Sprintf("; process %d may still be writing to %s", pid, dir)
	}
}

func (l *leftovers) wrote(files []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.files, l.process = append(l.files, files...), ""
}

// String says it in a line.
func (l *leftovers) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.files) == 0 {
		return "no report was written" + l.process
	}
	return "written: " + strings.Join(l.files, ", ") + l.process
}
