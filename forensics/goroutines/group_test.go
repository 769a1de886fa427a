package goroutines

import (
	"bytes"
	"fmt"
	"runtime"
	"strconv"
	"testing"
)

func TestGroupBy(t *testing.T) {
	at := func(line int, args string) []Frame {
		return []Frame{{Func: "main.wait", Args: args, Line: line}, {Func: "main.run", Line: 9}}
	}
	lock := []Frame{{Func: "sync.runtime_SemacquireMutex"}, {Func: "sync.(*Mutex).Lock"}, {Func: "main.x"}}
	call := []Frame{{Func: "syscall.Syscall6"}, {Func: "syscall.fstatat"}}
	a, b := &Frame{Func: "main.a", Line: 1}, &Frame{Func: "main.b", Line: 1}
	d := Dump{Goroutines: []Goroutine{
		{ID: 1, Count: 1, State: "select", WaitMinutes: 3, Frames: at(1, "0x1"), CreatedBy: a},
		{ID: 2, Count: 1, State: "chan receive", WaitMinutes: 9, Frames: at(1, "0x2"), CreatedBy: &Frame{Func: "main.a", Line: 2}},
		{ID: 3, Count: 1, State: "select", Frames: at(2, "0x1"), CreatedBy: a},
		{ID: 4, Count: 1, State: "select", Frames: at(1, "0x1"), CreatedBy: b},
		{ID: 5, Count: 1, State: "select", Frames: at(1, "0x1")},
		{ID: 6, Count: 1, State: "semacquire", Frames: lock},
		{ID: 7, Count: 1, State: "syscall", WaitMinutes: 2, Frames: call},
		{ID: 8, Count: 40, Frames: at(3, "")},
	}}
	type summary struct {
		IDs     string
		Count   int
		Wait    int
		Blocked bool
		States  map[string]int
	}
	var got []summary
	for _, g := range GroupBy(d) {
		got = append(got, summary{fmt.Sprint(g.IDs), g.Count, g.MaxWaitMinutes, g.Blocked, g.States})
	}
	want := []summary{
		{"[7]", 1, 2, true, map[string]int{"syscall": 1}},
		{"[6]", 1, 0, true, map[string]int{"semacquire": 1}},
		{"[1 2]", 2, 9, false, map[string]int{"select": 1, "chan receive": 1}},
		{"[8]", 40, 0, false, map[string]int{}},
		{"[4]", 1, 0, false, map[string]int{"select": 1}},
		{"[5]", 1, 0, false, map[string]int{"select": 1}},
		{"[3]", 1, 0, false, map[string]int{"select": 1}},
	}
	diff(t, "groups", want, got)
}

func TestGroupsOfCaptures(t *testing.T) {
	for _, c := range captures {
		for _, form := range []string{"debug2.txt.gz", "debug1.txt.gz", "debug0.pb.gz"} {
			data := readFixture(t, c+"/"+form)
			groups := GroupBy(parseOne(t, data))
			total := 0
			for _, g := range groups {
				total += g.Count
			}
			if total < 80 {
				t.Errorf("%s %s: %d goroutines in groups", c, form, total)
			}
		}
	}
}

// The hung goroutine comes first in every form, and is the only one that is blocked.
func TestGroupsOfHungKubelets(t *testing.T) {
	for _, c := range captures[:2] {
		for _, form := range []string{"debug2.txt.gz", "debug1.txt.gz", "debug0.pb.gz"} {
			groups := GroupBy(parseOne(t, readFixture(t, c+"/"+form)))
			if !groups[0].Blocked || groups[0].Role.ID != roleSyncLoop || groups[0].Count != 1 {
				t.Errorf("%s %s: first group: %+v", c, form, groups[0])
			}
			for _, g := range groups[1:] {
				if g.Blocked {
					t.Errorf("%s %s: blocked too: %s", c, form, g.Frames[0].Func)
				}
			}
		}
	}
}

// A kubelet that waits for its runtime is blocked in a request, not in a system call.
func TestGroupsOfStoppedRuntime(t *testing.T) {
	groups := GroupBy(parseOne(t, readFixture(t, captures[2]+"/debug2.txt.gz")))
	if !groups[0].Blocked {
		t.Fatal("nothing is blocked")
	}
	roles := map[string]bool{}
	for _, g := range groups {
		if g.Blocked {
			roles[g.Role.ID] = true
			if g.States["syscall"] > 0 {
				t.Errorf("in a system call: %+v", g.Frames[0])
			}
		}
	}
	if !roles[rolePLEG] {
		t.Errorf("blocked roles: %v, want %s among them", roles, rolePLEG)
	}
}

// repeater yields the goroutines of a dump again and again, numbered anew, and
// so makes a dump of any size without holding it.
type repeater struct {
	blocks [][]byte
	size   int64
	next   int
	buf    bytes.Buffer
}

func newRepeater(one []byte, size int64) *repeater {
	var r repeater
	for _, b := range bytes.Split(bytes.TrimSpace(one), []byte("\n\n")) {
		_, rest, _ := bytes.Cut(b[len("goroutine "):], []byte(" "))
		r.blocks = append(r.blocks, rest)
	}
	r.size = size
	return &r
}

func (r *repeater) Read(p []byte) (int, error) {
	for r.buf.Len() < len(p) && r.size > 0 {
		i := 0 // the one that wrote the dump comes once
		if r.next > 0 {
			i = 1 + r.next%(len(r.blocks)-1)
		}
		r.next++
		n := r.buf.Len()
		r.buf.WriteString("goroutine ")
		r.buf.WriteString(strconv.Itoa(r.next))
		r.buf.WriteByte(' ')
		r.buf.Write(r.blocks[i])
		r.buf.WriteString("\n\n")
		r.size -= int64(r.buf.Len() - n)
	}
	return r.buf.Read(p)
}

// 256 MiB of dump are grouped in a small part of that.
func TestGroupsMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("reads 256 MiB")
	}
	in := newRepeater(readFixture(t, captures[1]+"/debug2.txt.gz"), 256<<20)
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	dumps, problems, err := Digester{}.Digest(in)
	if err != nil || len(problems) > 0 || len(dumps) != 1 {
		t.Fatal(len(dumps), problems, err)
	}
	groups := GroupBy(dumps[0])
	runtime.ReadMemStats(&after)
	total := 0
	for _, g := range groups {
		total += g.Count
	}
	if total != in.next || len(groups) > 100 {
		t.Errorf("%d goroutines in %d groups, want %d in fewer than 100", total, len(groups), in.next)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 64<<20 {
		t.Errorf("allocated %d MiB in all for 256 MiB of dump", used>>20)
	}
}
