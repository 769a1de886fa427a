package goroutines

import "testing"

func TestWords(t *testing.T) {
	tests := []struct {
		name, args string
		want       []Word
	}{
		{"none", "", []Word{}},
		{"inlined", "...", []Word{}},
		{"plain", "0x106, 0xffffffffffffff9c", []Word{{Value: 0x106, Known: true}, {Value: 0xffffffffffffff9c, Known: true}}},
		{"string", "{0x63d87030bd0, 0x63}", []Word{{Value: 0x63d87030bd0, Known: true}, {Value: 0x63, Known: true}}},
		{"uncertain", "0x0?, {0x1?, 0x2}", []Word{{Value: 0, Known: true, Uncertain: true}, {Value: 1, Known: true, Uncertain: true}, {Value: 2, Known: true}}},
		{"unknown", "_, 0x1", []Word{{}, {Value: 1, Known: true}}},
		{"nested and cut", "{{0x1, {0x2, ...}}, 0x3}, ...", []Word{{Value: 1, Known: true}, {Value: 2, Known: true}, {Value: 3, Known: true}}},
		{"junk", "0xzz, 12, 0x, 0x11112222333344445", []Word{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			diff(t, "words", test.want, Frame{Args: test.args}.Words())
		})
	}
}

func TestSyscall(t *testing.T) {
	args := "0x106, 0x1, 0x2, 0x3, 0x4, 0x5, 0x6"
	tests := []struct {
		name   string
		g      Goroutine
		number uint64
		args   int // -1: no system call
		call   string
	}{
		{"six arguments", Goroutine{State: "syscall", Frames: []Frame{{Func: "syscall.Syscall6", Args: args}, {Func: "syscall.fstatat"}}}, 0x106, 6, "newfstatat"},
		{"results behind the arguments", Goroutine{State: "syscall", Frames: []Frame{{Func: "syscall.Syscall", Args: args}, {Func: "syscall.Statfs"}}}, 0x106, 3, "statfs"},
		{"no error", Goroutine{State: "syscall", Frames: []Frame{{Func: "syscall.rawSyscallNoError", Args: "0x27, 0x0, 0x0, 0x0"}}}, 0x27, 3, ""},
		{"x/sys/unix", Goroutine{State: "syscall", Frames: []Frame{{Func: "golang.org/x/sys/unix.Syscall6", Args: args}, {Func: "golang.org/x/sys/unix.Statx"}}}, 0x106, 6, "statx"},
		{"below the wrapper", Goroutine{State: "syscall", Frames: []Frame{{Func: "internal/runtime/syscall.Syscall6"}, {Func: "syscall.RawSyscall6", Args: args}, {Func: "syscall.Syscall6", Args: args}, {Func: "syscall.openat"}}}, 0x106, 6, "openat"},
		{"number in a stale register, Go 1.20", Goroutine{State: "syscall", Frames: []Frame{{Func: "syscall.Syscall6", Args: "0x7ffe?, 0x18?"}, {Func: "syscall.openat"}}}, 0, -1, "openat"},
		{"aggregated", Goroutine{Frames: []Frame{{Func: "syscall.Syscall"}, {Func: "syscall.Getdents"}}}, 0, -1, "getdents64"},
		{"returned", Goroutine{State: "runnable", Frames: []Frame{{Func: "syscall.Syscall", Args: args}, {Func: "syscall.read"}}}, 0, -1, ""},
		{"further out only", Goroutine{State: "select", Frames: []Frame{{Func: "main.x"}, {Func: "syscall.Syscall", Args: args}}}, 0, -1, ""},
		{"before the call", Goroutine{State: "running", Frames: []Frame{{Func: "syscall.fstatat"}, {Func: "os.Stat"}}}, 0, -1, ""},
		{"a program's own wrapper", Goroutine{State: "syscall", Frames: []Frame{{Func: "syscall.Syscall", Args: args}, {Func: "main.raw"}}}, 0x106, 3, ""},
		{"old wait", Goroutine{State: "syscall", Frames: []Frame{{Func: "syscall.Syscall6", Args: args}, {Func: "os.(*Process).blockUntilWaitable"}}}, 0x106, 6, "waitid"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			call, ok := test.g.Syscall()
			if ok != (test.args >= 0) || ok && (call.Number != test.number || len(call.Args) != test.args) {
				t.Errorf("Syscall() = %+v, %v", call, ok)
			}
			if name := test.g.SyscallName(); name != test.call {
				t.Errorf("SyscallName() = %q, want %q", name, test.call)
			}
		})
	}
}

// The call that a hung kubelet is in, with the pointer that the kernel shows of its thread too.
func TestSyscallOfCapture(t *testing.T) {
	d := parseOne(t, readFixture(t, captures[0]+"/debug2.txt.gz"))
	g := find(t, d, "k8s.io/utils/mount.(*Mounter).IsLikelyNotMountPoint")
	call, ok := g.Syscall()
	if !ok || call.Number != 0x106 || call.Args[1].Value != 0x63d87030c40 || g.WaitMinutes != 12 || g.ID != 117 {
		t.Errorf("goroutine %d, %d minutes, %+v", g.ID, g.WaitMinutes, call)
	}
}

func TestNormalizeFunc(t *testing.T) {
	for symbol, want := range map[string]string{
		"os.Stat": "os.Stat",
		"k8s.io/kubernetes/vendor/k8s.io/apimachinery/pkg/util/wait.Until": "k8s.io/apimachinery/pkg/util/wait.Until",
		"a/vendor/b/vendor/c.(*T).M-fm":                                    "c.(*T).M-fm",
		"vendor/golang.org/x/net/http2/hpack.f":                            "golang.org/x/net/http2/hpack.f",
		"k8s.io/kubernetes/vendor/gopkg.in/yaml%2ev2.(*Decoder).Decode":    "gopkg.in/yaml.v2.(*Decoder).Decode",
		"q.(*T[go.shape.struct { a/vendor/b.X }]).run":                     "q.(*T[go.shape.struct { a/vendor/b.X }]).run",
		"100%": "100%", "a%zz": "a%zz", "a%2": "a%2", "a%0ab%25": "a%0ab%", "": "",
	} {
		if got := normalizeFunc(symbol); got != want {
			t.Errorf("normalizeFunc(%q) = %q, want %q", symbol, got, want)
		}
	}
}

func TestWaitAtLeast(t *testing.T) {
	for minutes, want := range map[int]string{0: "0s", 1: "0s", 2: "0s", 3: "1m0s", 46: "44m0s"} {
		if got := (Goroutine{WaitMinutes: minutes}).WaitAtLeast().String(); got != want {
			t.Errorf("%d minutes: %s, want %s", minutes, got, want)
		}
	}
}
