// Package sorting sorts and filters lists of many types without a copy of the code for each of them.
package sorting

import "sort"

// Stable is [slices.SortStableFunc] in one piece of code that all types share. It is slower where there are thousands of
// elements, which few lists of a report have; one copy for each type was a fiftieth of the program.
func Stable[T any](list []T, compare func(a, b T) int) {
	sort.SliceStable(list, func(i, j int) bool { return compare(list[i], list[j]) < 0 })
}
