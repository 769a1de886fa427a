package forensics

import "sort"

// sortStable is slices.SortStableFunc without a copy of its code for each type: together they were a hundredth of the
// program.
func sortStable[T any](list []T, compare func(a, b T) int) {
	sort.SliceStable(list, func(i, j int) bool { return compare(list[i], list[j]) < 0 })
}
