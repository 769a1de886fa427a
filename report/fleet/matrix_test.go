package fleet

import "testing"

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
