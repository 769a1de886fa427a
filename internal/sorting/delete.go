package sorting

import "reflect"

// Delete is [slices.DeleteFunc] in one piece of code that all types share; what is kept stays in its order.
func Delete[T any](list []T, drop func(T) bool) []T {
	n := keep(len(list), reflect.Swapper(list), func(i int) bool { return !drop(list[i]) })
	clear(list[n:])
	return list[:n]
}

// keep moves what is kept to the beginning and returns how much that is.
func keep(length int, swap func(i, j int), kept func(i int) bool) (n int) {
	for i := range length {
		if kept(i) {
			if i != n {
				swap(i, n)
			}
			n++
		}
	}
	return n
}
