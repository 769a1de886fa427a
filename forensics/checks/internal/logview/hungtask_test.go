package logview

import "testing"

// TestTaskID has names that any program can give itself, also none.
func TestTaskID(t *testing.T) {
	for process, want := range map[string]int{"tar (4711)": 4711, "a (b) (4711)": 4711, "(4711)": 4711, "tar": 0, "tar (x)": 0, "": 0} {
		if got := taskID(process); got != want {
			t.Errorf("%q: %d, want %d", process, got, want)
		}
	}
}
