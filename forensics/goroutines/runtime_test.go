package goroutines

import (
	"slices"
	"strings"
	"testing"
)

// The files in testdata/runtime are dumps of one program, built with several
// releases of Go as a GOPATH package k8s.io/kubernetes/cmd/blocked, whose
// goroutines wait for real: in openat(2) of a FIFO, in waitid(2) for a child,
// for locks, in channels. No line of them was written by hand; the paths of the
// Go trees were made neutral.
var releases = []string{"1.9.7", "1.12.17", "1.16.15", "1.17.13", "1.20.14", "1.21.13", "1.23.12", "1.26"}

const isLikelyNotMountPoint = "k8s.io/utils/mount.(*Mounter).IsLikelyNotMountPoint"

// Every release and form tells the same of the goroutine that opens the FIFO.
func TestRuntimeOpen(t *testing.T) {
	for _, release := range releases {
		for _, form := range []string{"debug2", "abort"} {
			t.Run(release+" "+form, func(t *testing.T) {
				d := parseOne(t, readFixture(t, "runtime/go"+release+"-"+form+".txt.gz"))
				g := find(t, d, isLikelyNotMountPoint)
				if g.State != "syscall" || !g.Blocked() || g.CreatedBy == nil || g.CreatedBy.Func != "main.main" {
					t.Errorf("state %q, blocked %v, created by %+v", g.State, g.Blocked(), g.CreatedBy)
				}
				if name := g.SyscallName(); name != "openat" {
					t.Errorf("SyscallName() = %q, want openat", name)
				}
				checkPathLength(t, g, release)
				call, ok := g.Syscall()
				if release == "1.20.14" || release == "1.21.13" { // prints stale registers
					if ok {
						t.Errorf("Syscall() = %+v, want none", call)
					}
					return
				}
				if !ok || call.Number != 0x101 || len(call.Args) != 6 {
					t.Fatalf("Syscall() = %+v, %v; want openat with 6 arguments", call, ok)
				}
				at := call.Args[0]
				if int64(at.Value) != -100 || !at.Known {
					t.Errorf("first argument = %+v, want AT_FDCWD", at)
				}
			})
		}
	}
}

// checkPathLength looks for the length of the path in the arguments of the
// function that opens it: the second word, however the string is printed.
func checkPathLength(t *testing.T, g Goroutine, release string) {
	t.Helper()
	for _, f := range g.Frames {
		if f.Func != "os.OpenFile" || f.Inlined {
			continue
		}
		w := f.Words()
		// Paths such as out/go1.26/abort/fifo, relative to where the program ran.
		if want := uint64(len("out/go/abort/fifo") + len(release)); len(w) < 2 || w[1].Value != want {
			t.Errorf("%s(%s): words %+v, want length %#x", f.Func, f.Args, w, want)
		}
		return
	}
	t.Error("no os.OpenFile frame with arguments")
}

func TestRuntimeStates(t *testing.T) {
	tests := []struct {
		function string
		states   []string // by release: semacquire became names of their own
		blocked  bool
	}{
		{"main.(*locker).lock", []string{"semacquire", "sync.Mutex.Lock"}, true},
		{"main.(*locker).rlock", []string{"semacquire", "sync.RWMutex.RLock"}, true},
		{"main.(*locker).wait", []string{"semacquire", "sync.WaitGroup.Wait"}, false},
		{"gopkg.in/yaml.v2.(*Decoder).Decode", []string{"chan receive"}, false},
		{"os.(*Process).Wait", []string{"syscall"}, true},
		{"main.recurse", []string{"chan receive"}, false},
	}
	for _, release := range releases {
		d := parseOne(t, readFixture(t, "runtime/go"+release+"-debug2.txt.gz"))
		if name := find(t, d, "os.(*Process).Wait").SyscallName(); name != "waitid" {
			t.Errorf("%s: the parent of a child is in %q, want waitid", release, name)
		}
		if len(d.Goroutines) != 13 {
			t.Errorf("%s: %d goroutines, want 13", release, len(d.Goroutines))
		}
		for _, test := range tests {
			g := find(t, d, test.function)
			if !slices.Contains(test.states, g.State) || g.Blocked() != test.blocked {
				t.Errorf("%s %s: state %q, blocked %v; want %q, %v", release, test.function, g.State, g.Blocked(), test.states, test.blocked)
			}
		}
	}
}

// The stack of 151 calls is printed in part.
func TestRuntimeElided(t *testing.T) {
	tests := []struct {
		release        string
		frames, elided int
	}{{"1.9.7", 96, 0}, {"1.20.14", 97, 0}, {"1.21.13", 100, 51}, {"1.26", 100, 51}}
	for _, test := range tests {
		release := test.release
		d := parseOne(t, readFixture(t, "runtime/go"+release+"-debug2.txt.gz"))
		longest := Goroutine{}
		for _, g := range d.Goroutines {
			if len(g.Frames) > len(longest.Frames) {
				longest = g
			}
		}
		if longest.Elided != test.elided || len(longest.Frames) != test.frames {
			t.Errorf("%s: %d frames, elided %d; want %d, %d", release, len(longest.Frames), longest.Elided, test.frames, test.elided)
		}
	}
}

// Aggregated forms have the same stacks as debug=2, except that they miss the
// creator and, in debug=1, which calls were inlined.
func TestRuntimeFormsAgree(t *testing.T) {
	stacks := func(d Dump) []string {
		var all []string
		for _, g := range d.Goroutines {
			if g.State == "running" || g.Elided > 0 || strings.HasPrefix(g.Frames[0].Func, "runtime/pprof.") || len(g.Frames) > 50 {
				continue
			}
			var names []string
			for _, f := range g.Frames {
				names = append(names, f.Func)
			}
			for range g.Count {
				all = append(all, strings.Join(names, " < "))
			}
		}
		slices.Sort(all)
		return all
	}
	for _, name := range []string{"go1.26-debug1.txt.gz", "go1.26-debug0.pb.gz"} {
		want := stacks(parseOne(t, readFixture(t, "runtime/go1.26-debug2.txt.gz")))
		got := stacks(parseOne(t, readFixture(t, "runtime/"+name)))
		for i := range got { // the compiler's wrapper of a go statement: hidden in debug=2
			got[i] = strings.TrimSuffix(got[i], " < main.main.gowrap2")
			if at := strings.Index(got[i], " < main.main.gowrap"); at > 0 {
				got[i] = got[i][:at]
			}
		}
		slices.Sort(got)
		diff(t, name, want, got)
	}
	for _, name := range []string{"go1.9.7-debug1.txt.gz", "go1.9.7-debug0.pb.gz"} {
		d := parseOne(t, readFixture(t, "runtime/"+name))
		if g := find(t, d, isLikelyNotMountPoint); g.State != "" || !g.Blocked() || g.Count != 1 {
			t.Errorf("%s: %+v", name, g)
		}
	}
}

func TestRuntimeCrash(t *testing.T) {
	for _, release := range []string{"1.9.7", "1.20.14", "1.26"} {
		d := parseOne(t, readFixture(t, "runtime/go"+release+"-abort-crash.txt.gz"))
		if d.Form != formCrash || d.Header != "SIGABRT: abort" || d.Truncated {
			t.Errorf("%s: form %s, header %q, truncated %v", release, d.Form, d.Header, d.Truncated)
		}
		ids := map[int64]int{}
		for _, g := range d.Goroutines {
			ids[g.ID]++
		}
		delete(ids, 0) // the scheduler's, one a thread
		for id, n := range ids {
			if n > 1 {
				t.Errorf("%s: goroutine %d is there %d times", release, id, n)
			}
		}
		if g := find(t, d, isLikelyNotMountPoint); g.Frames[0].Func != "syscall.Syscall6" {
			t.Errorf("%s: innermost call %s", release, g.Frames[0].Func)
		}
		for _, g := range d.Goroutines {
			if g.State == "chan receive" && strings.HasPrefix(g.Frames[0].Func, "runtime.") {
				t.Errorf("%s: goroutine %d starts with %s", release, g.ID, g.Frames[0].Func)
			}
		}
	}
	d := parseOne(t, readFixture(t, "runtime/go1.26-panic.txt.gz"))
	if d.Form != formCrash || !strings.HasPrefix(d.Header, "panic: runtime error: invalid memory address") {
		t.Errorf("panic: form %s, header %q", d.Form, d.Header)
	}
}

// With GOTRACEBACK=crash a goroutine on another thread first has no stack, and
// gets it when that thread has its turn.
func TestRuntimeOtherThread(t *testing.T) {
	data := readFixture(t, "runtime/go1.9.7-spin-crash.txt.gz")
	if n := strings.Count(string(data), "stack unavailable"); n != 2 {
		t.Fatalf("fixture has %d goroutines on other threads, want 2", n)
	}
	working := 0
	for _, g := range parseOne(t, data).Goroutines {
		if g.ID > 0 && len(g.Frames) == 0 {
			t.Errorf("goroutine %d has no stack", g.ID)
		}
		if len(g.Frames) > 0 && g.Frames[0].Func == "main.work" {
			working++
		}
	}
	if working == 0 {
		t.Error("no goroutine in main.work")
	}
}
