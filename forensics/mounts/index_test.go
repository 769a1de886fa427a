package mounts

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// table makes a table of lines "id parent mount-point".
func table(t testing.TB, lines ...string) *Table {
	t.Helper()
	tab := &Table{}
	for _, line := range lines {
		var m Mount
		if _, err := fmt.Sscanf(line, "%d %d", &m.ID, &m.ParentID); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		m.MountPoint = line[strings.IndexByte(line, '/'):]
		tab.Mounts = append(tab.Mounts, m)
	}
	return tab
}

func ids(list []Mount) []int {
	found := []int{}
	for _, m := range list {
		found = append(found, m.ID)
	}
	return found
}

func TestIndexCovering(t *testing.T) {
	for name, tc := range map[string]struct {
		table []string
		want  map[string]int // path to mount id, 0 for none
	}{
		"longest prefix that is a directory": {
			[]string{"1 0 /", "2 1 /a", "3 2 /a/b"},
			map[string]int{
				"/": 1, "/x": 1, "/a": 2, "/a/": 2, "/ab": 1, "/a/bc": 2, "/a/b": 3, "/a/b/c/d": 3, "/a/b/../x": 2, "//a//b": 3,
				"": 0, "a": 0, ".": 0,
			},
		},
		"stacked": {
			[]string{"1 0 /", "2 1 /a", "3 2 /a", "4 3 /a"},
			map[string]int{"/a": 4, "/a/x": 4, "/": 1},
		},
		"a mount covers the subtree below it": {
			[]string{"1 0 /", "2 1 /a/b", "3 1 /a"},
			map[string]int{"/a": 3, "/a/b": 3, "/a/b/c": 3},
		},
		"mounted again below the cover": {
			[]string{"1 0 /", "2 1 /a/b", "3 1 /a", "4 3 /a/b"},
			map[string]int{"/a/b": 4, "/a/c": 3},
		},
		"mounted beneath: later in the table, lower in the stack": {
			[]string{"1 0 /", "2 3 /a", "3 1 /a"},
			map[string]int{"/a": 2},
		},
		"several on one directory of one mount": {
			[]string{"1 0 /", "2 1 /a", "3 1 /a"},
			map[string]int{"/a": 3},
		},
		"initramfs: the first root is its own parent": {
			[]string{"1 1 /", "20 1 /", "21 20 /proc"},
			map[string]int{"/": 20, "/x": 20, "/proc/1": 21},
		},
		"everything covered by a second root": {
			[]string{"1 0 /", "2 1 /a", "3 1 /"},
			map[string]int{"/a/b": 3},
		},
		"chroot: no root": {
			[]string{"5 4 /a", "6 5 /a/b", "7 4 /c"},
			map[string]int{"/": 0, "/x": 0, "/a": 5, "/a/b/c": 6, "/c": 7},
		},
		"parents in a circle": {
			[]string{"1 2 /a", "2 1 /b", "3 0 /"},
			map[string]int{"/a": 3, "/b": 3},
		},
		"no mounts": {nil, map[string]int{"/": 0, "/a": 0}},
	} {
		t.Run(name, func(t *testing.T) {
			x := table(t, tc.table...).Index()
			for path, want := range tc.want {
				if got, ok := x.Covering(path); got.ID != want || ok != (want != 0) {
					t.Errorf("Covering(%q) = %d, %t; want %d", path, got.ID, ok, want)
				}
			}
		})
	}
}

func TestIndexLists(t *testing.T) {
	x := table(t,
		"1 0 /", "10 1 /k", "11 10 /k/a", "12 10 /k/a b", "13 10 /k/b/x", "14 11 /k/a", "15 1 /kk",
		"16 10 /k/b", "17 16 /k/b/x", "18 1 /k.d", "19 14 /k/a/y",
	).Index()
	for _, tc := range []struct {
		what string
		got  []Mount
		want []int
	}{
		{"below /k", x.Below("/k"), []int{10, 11, 12, 13, 14, 16, 17, 19}},
		{"below /k/", x.Below("/k/"), []int{10, 11, 12, 13, 14, 16, 17, 19}},
		{"below /k/b", x.Below("/k/b"), []int{13, 16, 17}},
		{"below /k/b/x/y", x.Below("/k/b/x/y"), []int{}},
		{"below a directory", x.Below("/no"), []int{}},
		{"below /", x.Below("/"), []int{1, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19}},
		{"at /k/a", x.At("/k/a"), []int{11, 14}},
		{"at /k/b/x, where one is covered with its directory", x.At("/k/b/x"), []int{13, 17}},
		{"at a directory", x.At("/k/c"), []int{}},
		{"ancestors of 19", x.Ancestors(19), []int{14, 11, 10, 1}},
		{"ancestors of 1", x.Ancestors(1), []int{}},
		{"ancestors of none", x.Ancestors(99), []int{}},
	} {
		if diff := cmp.Diff(tc.want, ids(tc.got)); diff != "" {
			t.Errorf("%s: -want +got:\n%s", tc.what, diff)
		}
	}
	for id, want := range map[int]bool{1: true, 10: true, 11: false, 13: false, 14: true, 16: true, 17: true, 99: false} {
		if got := x.Visible(id); got != want {
			t.Errorf("Visible(%d) = %t", id, got)
		}
	}
	if m, ok := x.ByID(17); !ok || m.MountPoint != "/k/b/x" {
		t.Errorf("ByID(17) = %+v, %t", m, ok)
	}
	if _, ok := x.ByID(99); ok {
		t.Error("ByID(99) found something")
	}
}

func TestIndexTuckedStack(t *testing.T) {
	x := table(t, "1 0 /", "2 4 /a", "3 2 /a", "4 1 /a").Index()
	if diff := cmp.Diff([]int{4, 2, 3}, ids(x.At("/a"))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestIndexCircle(t *testing.T) {
	x := table(t, "1 2 /a", "2 1 /a", "3 3 /a", "4 4 /").Index()
	if got := len(x.Ancestors(1)); got > 4 {
		t.Errorf("%d ancestors in a table of 4", got)
	}
	if got := len(x.At("/a")); got != 3 {
		t.Errorf("At lists %d mounts; want all 3", got)
	}
}

// lookUp follows a path as the kernel does: one component after the other, and at each from mount to mount for as long
// as another is mounted there.
func lookUp(list []Mount, name string) (Mount, bool) {
	var on Mount
	found := false
	cross := func(mountPoint string) {
		for crossed := true; crossed; {
			crossed = false
			for _, m := range slices.Backward(list) {
				outside := !slices.ContainsFunc(list, func(p Mount) bool { return p.ID == m.ParentID })
				if m.MountPoint == mountPoint && (found && m.ParentID == on.ID || !found && outside) {
					on, found, crossed = m, true, true
					break
				}
			}
		}
	}
	cross("/")
	at := ""
	for _, component := range strings.Split(strings.Trim(name, "/"), "/") {
		at += "/" + component
		cross(at)
	}
	return on, found
}

// TestIndexLikeTheKernel compares with lookUp on random tables.
func TestIndexLikeTheKernel(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var list []Mount
		for id := 1; id < 2+random.IntN(15); id++ {
			dir := "/"
			for range random.IntN(4) {
				dir = path.Join(dir, string("abc"[random.IntN(3)]))
			}
			// Mounted where a path leads at that moment, or, now and then, on anything: propagation does that.
			on, _ := lookUp(list, dir)
			parent := on.ID
			if random.IntN(5) == 0 {
				parent = random.IntN(id)
			}
			list = append(list, Mount{ID: id, ParentID: parent, MountPoint: dir})
		}
		random.Shuffle(len(list), func(i, j int) {
			if random.IntN(4) == 0 {
				list[i], list[j] = list[j], list[i]
			}
		})
		x := (&Table{Mounts: list}).Index()
		for _, m := range list {
			for _, name := range []string{m.MountPoint, path.Join(m.MountPoint, "a"), path.Join(m.MountPoint, "b/x")} {
				want, wantOK := lookUp(list, name)
				if got, ok := x.Covering(name); got != want || ok != wantOK {
					t.Fatalf("Covering(%q) = %d, %t; want %d, %t in %+v", name, got.ID, ok, want.ID, wantOK, list)
				}
			}
			top, _ := lookUp(list, m.MountPoint)
			if got, want := x.Visible(m.ID), top == m; got != want {
				t.Fatalf("Visible(%d) = %t; want %t in %+v", m.ID, got, want, list)
			}
			stack := x.At(m.MountPoint)
			if x.Visible(m.ID) && stack[len(stack)-1] != m {
				t.Fatalf("At(%q) = %v; want %d last", m.MountPoint, ids(stack), m.ID)
			}
		}
	}
}

func TestIndexLongMountPoints(t *testing.T) {
	long := strings.Repeat("/x", maxLength)
	tab := &Table{Mounts: []Mount{{ID: 1, MountPoint: "/"}, {ID: 2, ParentID: 1, MountPoint: long}, {ID: 3, ParentID: 2, MountPoint: long + "/y"}}}
	x := tab.Index()
	for name, want := range map[string]int{long: 2, long + "/y/z": 3, long[:100]: 1} {
		if got, _ := x.Covering(name); got.ID != want {
			t.Errorf("%d bytes: %d; want %d", len(name), got.ID, want)
		}
	}
}

func nodeTable(b *testing.B) *Table {
	list, errs := Parse(bytes.NewReader(manyMounts(3000)))
	if len(errs) != 0 {
		b.Fatal(errs)
	}
	return &Table{Mounts: list}
}

func BenchmarkIndex(b *testing.B) {
	tab := nodeTable(b)
	b.ReportAllocs()
	for b.Loop() {
		tab.Index()
	}
}

// BenchmarkIndexCovering looks up what 130,000 descriptors of a node may show: files in pods, in containers, on the
// root, and things that are no paths.
func BenchmarkIndexCovering(b *testing.B) {
	tab := nodeTable(b)
	x := tab.Index()
	names := make([]string, 130_000)
	for i := range names {
		mountPoint := tab.Mounts[i%len(tab.Mounts)].MountPoint
		switch i % 4 {
		case 0:
			names[i] = mountPoint + "/data/base/16384/2619"
		case 1:
			names[i] = mountPoint + "/lib/x86_64-linux-gnu/libc.so.6"
		case 2:
			names[i] = "/usr/lib/x86_64-linux-gnu/libpthread-2.31.so"
		case 3:
			names[i] = "socket:[123456]"
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, name := range names {
			x.Covering(name)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(names)), "ns/look-up")
}

// TestClean: all short names come out as path.Clean has them.
func TestClean(t *testing.T) {
	names := []string{""}
	for range 7 {
		for _, name := range names[:len(names):len(names)] {
			for _, c := range "/.a" {
				names = append(names, name+string(c))
			}
		}
		slices.Sort(names)
		names = slices.Compact(names)
	}
	if len(names) < 3000 {
		t.Fatalf("%d names", len(names))
	}
	for _, name := range names {
		if got, want := clean(name), path.Clean(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
