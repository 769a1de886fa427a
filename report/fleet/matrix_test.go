package fleet

import (
	"bufio"
	"fmt"
	"strings"
	"testing"
)

// A cause has a column if its number, from 0, is below theirs; causes are sorted.
func TestCountBelow(t *testing.T) {
	for _, tt := range []struct {
		causes  []int
		columns int
		want    int
	}{{nil, 3, 0}, {[]int{0, 2}, 3, 2}, {[]int{0, 2, 3, 7}, 3, 2}, {[]int{3}, 3, 0}} {
		if got := countBelow(tt.causes, tt.columns); got != tt.want {
			t.Errorf("of %v, %d are below %d, want %d", tt.causes, got, tt.columns, tt.want)
		}
	}
}

// TestNamesOfNodes are as many as two lines have room for, with the number of the others.
func TestNamesOfNodes(t *testing.T) {
	var c Cause
	for i := range 40 {
		c.Nodes = append(c.Nodes, Sighting{Node: fmt.Sprintf("node-%03d", i)})
	}
	var out strings.Builder
	w := &writer{Writer: bufio.NewWriter(&out), width: 80}
	w.nodes(&c, false)
	_ = w.Flush()
	if got := out.String(); strings.Count(got, "\n") != 2 || !strings.Contains(got, "and 28 more") {
		t.Errorf("%s", got)
	}
}
