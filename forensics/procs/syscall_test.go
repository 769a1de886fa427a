package procs

import (
	"fmt"
	"go/build"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseSyscall(t *testing.T) {
	name := func(number int) string { call, _ := lookupCall(runtime.GOARCH, number); return call.Name }
	for title, tc := range map[string]struct {
		text string
		want Syscall
		ok   bool
	}{
		"real": {
			"262 0xffffffffffffff9c 0x63d87030c40 0x63d865286b8 0x0 0x0 0x0 0x63d86fdf1e8 0x40e50e\n",
			Syscall{262, name(262), []string{"0xffffffffffffff9c", "0x63d87030c40", "0x63d865286b8", "0x0", "0x0", "0x0"}},
			true,
		},
		"without sp and pc": {
			"0 0x1a 0x63d86caff2e 0x10000 0x0 0x0 0x0",
			Syscall{0, name(0), []string{"0x1a", "0x63d86caff2e", "0x10000", "0x0", "0x0", "0x0"}},
			true,
		},
		"32-bit process has other numbers": {
			"262 0x1 0x2 0x3 0x4 0x5 0x6 0xffd3c5ac 0xf7f0a549",
			Syscall{262, "", []string{"0x1", "0x2", "0x3", "0x4", "0x5", "0x6"}},
			true,
		},
		"not in the table": {
			"999 0x1 0x2 0x3 0x4 0x5 0x6 0x7ffe0895bbf8 0x499303",
			Syscall{999, "", []string{"0x1", "0x2", "0x3", "0x4", "0x5", "0x6"}},
			true,
		},
		"running":             {"running", Syscall{}, false},
		"outside of any call": {"-1 0x7ffe0895bbf8 0x499303", Syscall{}, false},
		"number -1 with args": {"-1 0x1 0x2 0x3 0x4 0x5 0x6 0x7ffe0895bbf8 0x499303", Syscall{}, false},
		"argument missing":    {"0 0x1 0x2 0x3 0x4 0x5", Syscall{}, false},
		"argument decimal":    {"0 1 2 3 4 5 6 7 8", Syscall{}, false},
		"argument too large":  {"0 0x10000000000000000 0x2 0x3 0x4 0x5 0x6 0x7 0x8", Syscall{}, false},
		"empty":               {"", Syscall{}, false},
	} {
		t.Run(title, func(t *testing.T) {
			got, ok := ParseSyscall(tc.text)
			if ok != tc.ok {
				t.Fatalf("ok = %t; want %t", ok, tc.ok)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("ParseSyscall (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLookupCall(t *testing.T) {
	for name, tc := range map[string]struct {
		arch   string
		number int
		want   systemCall
		ok     bool
	}{
		"0x3d is wait4 on amd64":      {"amd64", 0x3d, systemCall{"wait4", ""}, true},
		"0x3d is getdents64 on arm64": {"arm64", 0x3d, systemCall{"getdents64", "f"}, true},
		"newfstatat amd64":            {"amd64", 0x106, systemCall{"newfstatat", "dp"}, true},
		"newfstatat arm64":            {"arm64", 0x4f, systemCall{"newfstatat", "dp"}, true},
		"statx arm64":                 {"arm64", 0x123, systemCall{"statx", "dp"}, true},
		"shared numbers":              {"arm64", 437, systemCall{"openat2", "dp"}, true},
		"getpid names no file":        {"amd64", 39, systemCall{}, false},
		"negative":                    {"amd64", -1, systemCall{}, false},
		"other architecture":          {"s390x", 437, systemCall{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got, ok := lookupCall(tc.arch, tc.number); ok != tc.ok || ok && got != tc.want {
				t.Errorf("lookupCall = %+v, %t; want %+v, %t", got, ok, tc.want, tc.ok)
			}
		})
	}
}

// TestCallNumbers compares the tables with those that golang.org/x/sys/unix has generated from the kernel's headers.
func TestCallNumbers(t *testing.T) {
	pkg, err := build.Import("golang.org/x/sys/unix", ".", build.FindOnly)
	if err != nil {
		t.Skipf("needs the source of golang.org/x/sys: %v", err)
	}
	for arch, table := range map[string]map[int]systemCall{"amd64": callsAMD64, "arm64": callsARM64} {
		t.Run(arch, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(pkg.Dir, "zsysnum_linux_"+arch+".go"))
			if err != nil {
				t.Fatal(err)
			}
			numbers := map[string]int{}
			for _, m := range regexp.MustCompile(`SYS_(\w+)\s*=\s*(\d+)`).FindAllStringSubmatch(string(text), -1) {
				numbers[strings.ToLower(m[1])], _ = strconv.Atoi(m[2])
			}
			check := func(number int, call systemCall) {
				if want, ok := numbers[call.Name]; !ok || want != number {
					t.Errorf("%s = %d; want %d (known: %t)", call.Name, number, want, ok)
				}
			}
			for number, call := range table {
				check(number, call)
			}
			for number, call := range callsShared {
				check(number, call)
			}
			if len(table) < 100 {
				t.Errorf("table has %d calls", len(table))
			}
		})
	}
}

// TestCallArguments holds the tables against each other: a call has the same arguments on both architectures, and a
// directory descriptor always belongs to a path.
func TestCallArguments(t *testing.T) {
	byName := map[string]systemCall{}
	for _, call := range callsAMD64 {
		byName[call.Name] = call
	}
	for number, call := range callsARM64 {
		if other, ok := byName[call.Name]; !ok || other != call {
			t.Errorf("arm64 %d %+v; amd64 has %+v", number, call, other)
		}
	}
	shape := regexp.MustCompile(`^(f|dp|p|q|\.)*$`)
	for _, table := range []map[int]systemCall{callsAMD64, callsARM64, callsShared} {
		for number, call := range table {
			if call.Name == "" || !shape.MatchString(call.Args) || len(call.Args) > syscallArgs {
				t.Errorf("%d: bad entry %+v", number, call)
			}
		}
	}
}

func FuzzParseSyscall(f *testing.F) {
	f.Add("262 0xffffffffffffff9c 0x63d87030c40 0x63d865286b8 0x0 0x0 0x0 0x63d86fdf1e8 0x40e50e\n")
	f.Add("-1 0x7ffe0895bbf8 0x499303")
	f.Add("running")
	f.Fuzz(func(t *testing.T, text string) {
		s, ok := ParseSyscall(text)
		if !ok {
			if s.Args != nil || s.Number != 0 {
				t.Errorf("half a result %+v", s)
			}
			return
		}
		if len(s.Args) != syscallArgs || s.Number < 0 {
			t.Errorf("ParseSyscall(%q) = %+v", text, s)
		}
		line := fmt.Sprintf("%d %s", s.Number, strings.Join(s.Args, " "))
		if again, ok := ParseSyscall(line); !ok || !slices.Equal(again.Args, s.Args) || again.Number != s.Number {
			t.Errorf("ParseSyscall(%q) = %+v, %t; want %+v", line, again, ok, s)
		}
	})
}
