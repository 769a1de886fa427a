package logs

import "testing"

// BenchmarkClassify is what a line costs that holds a literal, beyond its parsing: the mean over all examples.
func BenchmarkClassify(b *testing.B) {
	var entries []*entry
	for _, ex := range allExamples(b) {
		entries = append(entries, entryOf(ex.line, ex.origin))
	}
	i := 0
	for b.Loop() {
		classify(entries[i%len(entries)])
		i++
	}
}

// BenchmarkFold is what an occurrence costs in the one goroutine that makes the story.
func BenchmarkFold(b *testing.B) {
	var all []occurrence
	for _, ex := range allExamples(b) {
		if o, ok := classify(entryOf(ex.line, ex.origin)); ok {
			all = append(all, o)
		}
	}
	f := newFolder()
	i := 0
	for b.Loop() {
		f.add("kubelet.log", all[i%len(all)])
		i++
	}
}
