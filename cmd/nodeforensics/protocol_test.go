package main

import (
	"bytes"
	"encoding/json"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
)

// handedOver is evidence after the way from the collecting process, of which the frames from cut on do not arrive.
func handedOver(t *testing.T, cut int, parts ...forensics.Evidence) forensics.Evidence {
	t.Helper()
	var pipe bytes.Buffer
	out, n := json.NewEncoder(&pipe), 0
	for _, part := range parts {
		for f := range frames(part) {
			if n++; n > cut {
				break
			}
			if err := out.Encode(f); err != nil {
				t.Fatal(err)
			}
		}
	}
	arrived, stop := make(chan frame, 100), make(chan struct{})
	_ = readFrames(&pipe, arrived, stop) // ends with the pipe
	close(arrived)
	e := forensics.NewEvidence()
	for f := range arrived {
		if f.Part != nil {
			e.Merge(*f.Part)
		}
		if f.Rest != nil {
			f.Rest.addTo(&e)
		}
	}
	return e
}

// A dump comes in pieces and is put together again. One of which the rest is missing says so.
func TestDumpsComeInPieces(t *testing.T) {
	dump := func(n int, truncated bool) forensics.Dump {
		d := forensics.Dump{Source: "x", Dump: goroutines.Dump{Form: goroutines.FormDebug2, Goroutines: []goroutines.Goroutine{}, Truncated: truncated}, Problems: []goroutines.Problem{}}
		for i := range n {
			d.Goroutines = append(d.Goroutines, goroutines.Goroutine{ID: int64(i + 1), Count: 1, Frames: []goroutines.Frame{{Func: "main.f", Line: i}}})
		}
		return d
	}
	parts := []forensics.Evidence{
		{Dumps: []forensics.Dump{dump(3, false), dump(1000, false), dump(600, true)}},
		{Dumps: []forensics.Dump{dump(goroutinesAtOnce, false), dump(goroutinesAtOnce+1, false)}},
	}
	want := forensics.NewEvidence()
	for _, part := range parts {
		want.Merge(part)
	}
	if diff := cmp.Diff(want, handedOver(t, 1000, parts...)); diff != "" {
		t.Errorf("(-sent +received):\n%s", diff)
	}
	cut := handedOver(t, 3, parts...)
	if d := cut.Dumps[1]; !d.Truncated || len(d.Goroutines) != 3*goroutinesAtOnce {
		t.Errorf("%d goroutines, truncated %v", len(d.Goroutines), d.Truncated)
	}
}

// A rest that no part announced is nothing.
func TestRestWithoutADump(t *testing.T) {
	for _, r := range []rest{{Dump: 0, Of: 1}, {Dump: -1, Of: 0}, {Dump: 2, Of: 1}} {
		e := forensics.NewEvidence()
		r.Goroutines = []goroutines.Goroutine{{ID: 1}}
		r.addTo(&e)
		if len(e.Dumps) > 0 {
			t.Errorf("%+v made a dump", r)
		}
	}
}

// Pods and their directories come in pieces, too. Pods are added to those that other sources told of, directories are not.
func TestPodsComeInPieces(t *testing.T) {
	var part forensics.Evidence
	for i := range 3*podsAtOnce + 1 {
		part.Pods = append(part.Pods, kubelet.Pod{UID: strconv.Itoa(i), Source: "kubelet"})
		part.PodDirs = append(part.PodDirs, kubelet.PodDir{UID: strconv.Itoa(i)})
	}
	part.Coverage = []forensics.Source{{Source: forensics.SourceKubeletPods, Status: forensics.SourceRead}}
	before := forensics.Evidence{Collector: forensics.Collector{PID: 7, Command: []string{}, Outstanding: []forensics.Blocked{}}, Pods: []kubelet.Pod{{UID: "x", Source: "cgroup"}}, PodDirs: []kubelet.PodDir{{UID: "old"}}}
	want := forensics.NewEvidence()
	want.Merge(before)
	want.Merge(part)
	if diff := cmp.Diff(want, handedOver(t, 1000, before, part)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	most := 0
	for f := range frames(part) {
		if f.Part != nil {
			most = max(most, len(f.Part.Pods), len(f.Part.PodDirs))
		}
		if f.Rest != nil {
			most = max(most, len(f.Rest.PodDirs))
		}
	}
	if most != podsAtOnce {
		t.Errorf("%d in one frame", most)
	}
	cut := handedOver(t, 3, before, part)
	if ok, _ := cut.Saw(forensics.SourceKubeletPods); ok || len(cut.Pods) == 1 {
		t.Errorf("a list of which %d pods arrived counts as read", len(cut.Pods))
	}
}
