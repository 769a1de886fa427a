package goroutines

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// crowd is a dump of n goroutines with one stack each of two kinds, and waits of 0 to 9 minutes.
func crowd(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "goroutine %d [select, %d minutes]:\nmain.a(%#x)\n\t/a.go:1 +0x1\ncreated by main.main in goroutine 1\n\t/a.go:9 +0x1\n\n", 2*i+1, i%10, 4096+i)
		fmt.Fprintf(&b, "goroutine %d [chan receive]:\nmain.b(%#x)\n\t/a.go:2 +0x1\ncreated by main.main in goroutine 1\n\t/a.go:9 +0x1\n\n", 2*i+2, 4096+i)
	}
	return b.String()
}

// A digest keeps few goroutines and counts all.
func TestDigest(t *testing.T) {
	const n, keep = 1000, 20
	text := crowd(n)
	dumps, problems, err := (Digester{Whole: 100, Keep: keep}).Digest(strings.NewReader(text))
	if err != nil || len(problems) > 0 || len(dumps) != 1 {
		t.Fatalf("%d dumps, %v, %v", len(dumps), problems, err)
	}
	if got := len(dumps[0].Goroutines); got > 4*(keep+1) { // main.a in three classes of waiting time
		t.Errorf("%d goroutines are kept, want at most %d", got, 4*(keep+1))
	}
	whole, _, _ := Parse(strings.NewReader(text))
	if diff := cmp.Diff(GroupBy(whole[0]), GroupBy(dumps[0]), cmpopts.IgnoreFields(Group{}, "IDs")); diff != "" {
		t.Errorf("groups (-whole +digest):\n%s", diff)
	}
	for _, g := range dumps[0].Goroutines {
		switch {
		case g.ID == 0 && (g.Count <= 1 || g.State == ""):
			t.Errorf("a sum of %d in state %q", g.Count, g.State)
		case g.ID != 0 && g.Count != 1:
			t.Errorf("goroutine %d counts %d", g.ID, g.Count)
		}
	}
}

// The goroutine that waits longest is kept, wherever it stands.
func TestDigestKeepsTheLongest(t *testing.T) {
	text := crowd(100) + "goroutine 777 [select, 44 minutes]:\nmain.a(0x7)\n\t/a.go:1 +0x1\ncreated by main.main in goroutine 1\n\t/a.go:9 +0x1\n"
	dumps, _, err := (Digester{Whole: 10, Keep: 3}).Digest(strings.NewReader(text))
	if err != nil || len(dumps) != 1 {
		t.Fatal(len(dumps), err)
	}
	count, found := 0, false
	for _, g := range dumps[0].Goroutines {
		count += g.Count
		switch {
		case g.ID == 777:
			found = g.WaitMinutes == 44 && g.Frames[0].Args == "0x7"
		case g.WaitMinutes > 9:
			t.Errorf("goroutine %d waits %d minutes", g.ID, g.WaitMinutes)
		}
	}
	if count != 201 || !found {
		t.Errorf("%d goroutines are counted, want 201; goroutine 777 is kept: %v", count, found)
	}
}

// A dump in which no stack comes often is kept as it is.
func TestDigestOfCaptures(t *testing.T) {
	for _, name := range []string{"kubelet-1.17.4-hung-cephfs/debug2.txt.gz", "kubelet-1.34.4-hung-csi/debug1.txt.gz", "kubelet-1.34.4-runtime-stopped/debug0.pb.gz"} {
		text := readFixture(t, name)
		whole, _, err1 := Parse(bytes.NewReader(text))
		digest, _, err2 := Digester{}.Digest(bytes.NewReader(text))
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		if diff := cmp.Diff(whole, digest); diff != "" {
			t.Errorf("%s (-whole +digest):\n%s", name, diff)
		}
	}
}

func TestDiff(t *testing.T) {
	parse := func(text string) []Group {
		t.Helper()
		dumps, _, err := Parse(strings.NewReader(text))
		if err != nil || len(dumps) != 1 {
			t.Fatal(len(dumps), err)
		}
		return GroupBy(dumps[0])
	}
	gone := "goroutine 9001 [select]:\nmain.gone()\n\t/a.go:3 +0x1\n\n"
	fresh := "goroutine 9002 [select]:\nmain.fresh()\n\t/a.go:4 +0x1\n\n"
	type change struct {
		Func          string
		Before, After int
	}
	var got []change
	for _, c := range Diff(parse(crowd(10)+gone), parse(crowd(12)+fresh)) {
		got = append(got, change{c.Group.Frames[0].Func, c.Before, c.After})
	}
	want := []change{{"main.a", 10, 12}, {"main.b", 10, 12}, {"main.fresh", 0, 1}, {"main.gone", 1, 0}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	if same := Diff(parse(crowd(10)), parse(crowd(10))); same == nil || len(same) != 0 {
		t.Errorf("two equal dumps differ: %v", same)
	}
}

// Go 1.26 prints a goroutine that comes back from a system call while the world stops as running, in the middle of a dump.
func TestRunningInTheMiddleOfADump(t *testing.T) {
	const writer = "goroutine 7 [running]:\nruntime/pprof.writeGoroutineStacks({0x1, 0x2})\n\t/pprof.go:1 +0x1\n\n"
	const main = "goroutine 1 [chan receive, 9 minutes]:\nmain.main()\n\t/a.go:1 +0x1\n\n"
	const comes = "goroutine 9 [running]:\nsyscall.Syscall6(0x106, 0x1, 0x2, 0x3, 0x0, 0x0, 0x0)\n\t/s.go:1 +0x1\nmain.stat()\n\t/a.go:2 +0x1\n\n"
	const last = "goroutine 11 [select]:\nmain.rest()\n\t/a.go:3 +0x1\n\n"
	for _, tt := range []struct {
		name, text string
		goroutines []int // of each dump
	}{
		{"one dump", writer + main + comes + last, []int{4}},
		{"two dumps of one process", writer + main + comes + last + writer + main + comes + last, []int{4, 4}},
		{"a dump that its program wrote itself", main + last + strings.ReplaceAll(comes, "main.stat", "main.dumpStacks") + main + last, []int{2, 3}},
	} {
		for name, read := range map[string]func(string) ([]Dump, []Problem, error){
			"Parse":  func(s string) ([]Dump, []Problem, error) { return Parse(strings.NewReader(s)) },
			"Digest": func(s string) ([]Dump, []Problem, error) { return Digester{}.Digest(strings.NewReader(s)) },
		} {
			dumps, _, err := read(tt.text)
			var got []int
			for _, d := range dumps {
				got = append(got, len(d.Goroutines))
			}
			if diff := cmp.Diff(tt.goroutines, got); diff != "" || err != nil {
				t.Errorf("%s, %s: %v (-want +got):\n%s", tt.name, name, err, diff)
			}
		}
	}
}

// Stacks for which there is no room are counted all the same, blocked ones have the better chance, and memory has a bound.
func TestDigestOfTooManyStacks(t *testing.T) {
	const n = 4000
	var b strings.Builder
	for i := range n {
		state := "select"
		if i >= n-10 {
			state = "chan send"
		}
		fmt.Fprintf(&b, "goroutine %d [%s]:\nmain.f%d(0x1)\n\t/a.go:1 +0x1\ncreated by main.main in goroutine 1\n\t/a.go:9 +0x1\n\n", i+1, state, i)
	}
	dumps, problems, err := Digester{Whole: 100, Bytes: 200_000}.Digest(strings.NewReader(b.String()))
	if err != nil || len(dumps) != 1 || len(problems) != 1 || !strings.Contains(problems[0].Reason, "are counted by creator and state") {
		t.Fatalf("%d dumps, %v, %v", len(dumps), problems, err)
	}
	count, sending, summed, size := 0, 0, 0, 0
	for _, g := range dumps[0].Goroutines {
		count += g.Count
		size += goroutineSize + frameSize*len(g.Frames)
		switch {
		case g.ID == 0:
			summed += g.Count
		case g.State == "chan send":
			sending++
		}
	}
	if count != n || sending != 10 || summed != dumps[0].Summed || summed < n/2 {
		t.Errorf("%d goroutines are counted, %d that send are kept, %d summed up of %d; want %d, 10", count, sending, summed, dumps[0].Summed, n)
	}
	if size > 250_000 {
		t.Errorf("%d bytes are kept", size)
	}
}

// Two digests of one process keep the same goroutines as examples, so that they can be compared.
func TestDigestsAreComparable(t *testing.T) {
	keep := func(text string) map[int64]string {
		dumps, _, err := Digester{Whole: 50, Keep: 5}.Digest(strings.NewReader(text))
		if err != nil || len(dumps) != 1 {
			t.Fatal(len(dumps), err)
		}
		kept := map[int64]string{}
		for _, g := range dumps[0].Goroutines {
			if g.ID > 0 && g.Frames[0].Func == "main.b" {
				kept[g.ID] = g.Frames[0].Args
			}
		}
		return kept
	}
	if diff := cmp.Diff(keep(crowd(400)), keep(crowd(500))); diff != "" {
		t.Errorf("examples (-first +second):\n%s", diff)
	}
}

// Waiters of two locks with one stack are two kinds.
func TestDigestTellsLocksApart(t *testing.T) {
	var b strings.Builder
	for i := range 300 {
		fmt.Fprintf(&b, "goroutine %d [sync.Mutex.Lock, 5 minutes]:\ninternal/sync.(*Mutex).lockSlow(0xc0000%d000)\n\t/m.go:1 +0x1\nmain.f(0x%x)\n\t/a.go:1 +0x1\n\n", i+1, i%2, i)
	}
	dumps, _, err := Digester{Whole: 50, Keep: 5}.Digest(strings.NewReader(b.String()))
	if err != nil || len(dumps) != 1 {
		t.Fatal(len(dumps), err)
	}
	got := map[string]int{}
	for _, g := range dumps[0].Goroutines {
		got[g.Frames[0].Args] += g.Count
	}
	if diff := cmp.Diff(map[string]int{"0xc00000000": 150, "0xc00001000": 150}, got); diff != "" {
		t.Errorf("waiters by lock (-want +got):\n%s", diff)
	}
}
