package forensics_test

import (
	"slices"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
)

// TestOtherPrograms: the goroutines of another program are its own, although their numbers are those of the kubelet's.
func TestOtherPrograms(t *testing.T) {
	dump := func(program string, pid, thread int) forensics.Dump {
		return forensics.Dump{Source: program, Program: program, PID: pid, Dump: goroutines.Dump{Form: goroutines.FormDebug2, Goroutines: []goroutines.Goroutine{
			{ID: 7, Count: 1, State: "syscall", Thread: thread, Frames: []goroutines.Frame{{Func: program + ".stat"}}},
		}}}
	}
	e := forensics.Evidence{
		Dumps:   []forensics.Dump{dump("containerd", 812, 815), dump("kubelet", 900, 901), dump("kubelet", 900, 901)},
		Threads: []procs.Thread{{PID: 812, TID: 815}, {PID: 900, TID: 901}},
	}
	m := forensics.NewModel(&e)
	if got := m.LatestDumps(); !slices.Equal(got, []int{2}) {
		t.Errorf("the kubelet's dumps to judge are %v", got)
	}
	if got := m.OtherDumps(); !slices.Equal(got, []int{0}) {
		t.Errorf("the dumps of other programs are %v", got)
	}
	for i, want := range []forensics.Entity{{Kind: forensics.KindGoroutine, ID: "812/7"}, {Kind: forensics.KindGoroutine, ID: "7"}} {
		entity := forensics.GoroutineEntity(&e.Dumps[i], 7)
		if entity != want {
			t.Errorf("the goroutine of %s is %v", e.Dumps[i].Program, entity)
		}
		thread := forensics.ThreadEntity(e.Threads[i])
		if got := forensics.Causes(m, entity); !slices.Equal(got, []forensics.Entity{thread}) {
			t.Errorf("%v is explained by %v, want %v", entity, got, thread)
		}
	}
	if got := forensics.Describe(m, forensics.Entity{Kind: forensics.KindGoroutine, ID: "812/7"}); got != "containerd goroutine 7 (containerd.stat) = thread 812/815 (by its memory)" {
		t.Errorf("described as %q", got)
	}
}

// TestOnlyAnotherProgramsDump: the dump of a container runtime is no look at the kubelet.
func TestOnlyAnotherProgramsDump(t *testing.T) {
	e := forensics.Evidence{Dumps: []forensics.Dump{{Source: "dump.txt", Program: "containerd"}}}
	e.Cover(forensics.Source{Source: forensics.SourceGoroutines + ":dump.txt", Status: forensics.SourceRead})
	if saw, why := e.Saw(forensics.SourceGoroutines); saw || why != "the dump is that of containerd" {
		t.Errorf("Saw = %v, %q", saw, why)
	}
	if saw, _ := e.Saw(forensics.SourceOtherGoroutines); !saw {
		t.Error("the dump of containerd does not count as that of another program")
	}
	e.Dumps = append(e.Dumps, forensics.Dump{Source: "dump.txt"})
	if saw, _ := e.Saw(forensics.SourceGoroutines); !saw {
		t.Error("a dump of an unknown program does not count as the kubelet's")
	}
}
