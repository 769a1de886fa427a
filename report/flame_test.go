package report

import (
	"fmt"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
)

func stack(count int, blocked bool, innermostFirst ...string) goroutines.Group {
	g := goroutines.Group{Count: count, Blocked: blocked}
	for _, f := range innermostFirst {
		g.Frames = append(g.Frames, goroutines.Frame{Func: f})
	}
	return g
}

func TestFlame(t *testing.T) {
	room := budget(budgetFlame)
	f := newFlame([]goroutines.Group{
		stack(3, true, "sync.(*Mutex).Lock", "k8s.io/kubernetes/pkg/kubelet.work", "runtime.goexit"),
		stack(1, false, "net.accept", "k8s.io/kubernetes/pkg/kubelet.work"),
		stack(4, false, "main.wait"),
	}, &room)
	got := ""
	for _, b := range f.Bars {
		got += fmt.Sprintf("%.0f+%.0f@%.0f %s %s\n", b.X, b.W, b.Y, b.Kind, b.Full)
	}
	want := `0+1039@0 all all 8 goroutines: 8, 3 blocked
0+519@19 own k8s.io/kubernetes/pkg/kubelet.work: 4, 3 blocked
0+389@38 blocked sync.(*Mutex).Lock: 3, 3 blocked
390+129@38  net.accept: 1
520+519@19  main.wait: 4
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestFlameIsBounded(t *testing.T) {
	room := budget(budgetFlame)
	if newFlame([]goroutines.Group{stack(flameLeast-1, false, "a")}, &room) != nil {
		t.Error("drew a picture of four goroutines")
	}
	var deep []string
	for i := range 500 {
		deep = append(deep, fmt.Sprint("f", i))
	}
	groups := []goroutines.Group{stack(1000, false, deep...)}
	for i := range 5000 {
		groups = append(groups, stack(20, false, fmt.Sprint("leaf", i), "root"))
	}
	f := newFlame(groups, &room)
	if len(f.Bars) > flameBars || f.H > flameDeep*flameRow {
		t.Errorf("%d bars, %d high", len(f.Bars), f.H)
	}
	room = 500
	if f := newFlame(groups, &room); len(f.Bars) > 5 {
		t.Errorf("%d bars in 500 bytes", len(f.Bars))
	}
}

// TestCPUFlame draws two stacks that share their outer frames: the shared ones are as wide as both.
func TestCPUFlame(t *testing.T) {
	p := &goroutines.CPUProfile{Source: "file", Seconds: 10, CPUSeconds: 1, Stacks: []goroutines.CPUStack{
		{Seconds: 0.75, Frames: []string{"a.leaf", "a.shared", "a.outer"}},
		{Seconds: 0.25, Frames: []string{"b.leaf", "a.shared", "a.outer"}},
	}}
	v := newCPUView(p)
	widths := map[shown]float64{}
	for _, b := range v.Flame.Bars {
		widths[b.Full] = b.W
	}
	for name, share := range map[shown]float64{
		"all 1000 ms: 1000 ms": 1, "a.outer: 1000 ms": 1, "a.shared: 1000 ms": 1, "a.leaf: 750 ms": 0.75, "b.leaf: 250 ms": 0.25,
	} {
		if want := share*flameWidth - 1; widths[name] != want {
			t.Errorf("%s is %v wide, want %v; bars %v", name, widths[name], want, widths)
		}
	}
	if len(v.Top) != 2 || v.Top[0].Name != "a.leaf" || v.Top[0].Value != "750 ms" {
		t.Errorf("heaviest = %v; want a.leaf first", v.Top)
	}
	if newCPUView(nil) != nil || newCPUFlame(&goroutines.CPUProfile{}, nil) != nil {
		t.Error("a picture of nothing")
	}
}
