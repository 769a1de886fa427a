package sorting_test

import (
	"cmp"
	"slices"
	"testing"

	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

func TestStable(t *testing.T) {
	type row struct{ key, place int }
	var list []row
	for i := range 1000 {
		list = append(list, row{key: i * 7919 % 13, place: i})
	}
	byKey := func(a, b row) int { return cmp.Compare(a.key, b.key) }
	want := slices.Clone(list)
	slices.SortStableFunc(want, byKey)
	if sorting.Stable(list, byKey); !slices.Equal(list, want) {
		t.Errorf("got %v", list)
	}
}
