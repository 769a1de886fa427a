package logs

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// However logs can be opened, and whether there is room for what counts of them, the story is the same.
func TestKeptLogsTellTheSameStory(t *testing.T) {
	var whole bytes.Buffer
	if _, err := generate(&whole, 4<<20); err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(whole.Bytes(), []byte("\n"))
	story := func(room int, far, once bool) []Story {
		r := Reader{Options: Options{Now: collected}, room: room}
		opened := map[string]int{}
		const parts = 8
		for i := range parts {
			part := (i*3 + 5) % parts // in no order of time
			name := fmt.Sprintf("%d.log", part)
			text := bytes.Join(lines[part*len(lines)/parts:(part+1)*len(lines)/parts], nil)
			if part == 3 {
				text = append(append(bytes.Clone(text), bytes.Repeat([]byte("x"), 300<<10)...), '\n') // a line that is cut
			}
			r.Add(t.Context(), Source{Path: name, Far: far, Once: once, Open: func(context.Context) (io.ReadCloser, error) {
				opened[name]++
				return io.NopCloser(bytes.NewReader(text)), nil
			}})
		}
		stories := r.Stories(t.Context())
		for name, n := range opened {
			if far && room == 0 && n != 1 {
				t.Errorf("%s was opened %d times", name, n)
			}
		}
		return stories
	}
	want := story(0, false, false)
	if len(want) != 1 || len(want[0].Files) != 8 || want[0].Files[3].Selected < 30 || len(want[0].Events) < 20 {
		t.Fatalf("%+v", want[0].Files)
	}
	for name, got := range map[string][]Story{
		"far": story(0, true, false), "far, no room": story(1, true, false), "far, room for some": story(100<<10, true, false), "once": story(0, false, true),
	} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	for room := 20 << 10; room < 400<<10; room += 20 << 10 { // of those for which there was none, the last ones may fit together
		if diff := cmp.Diff(want, story(room, true, false)); diff != "" {
			t.Errorf("far, room for %d bytes: %s", room, diff)
		}
	}
	// What can be read once is told when there is no more room, in another order.
	counts := func(list []Story) map[Kind]int64 {
		n := map[Kind]int64{}
		for _, e := range list[0].Events {
			n[e.Kind] += e.Count
		}
		return n
	}
	if diff := cmp.Diff(counts(want), counts(story(100<<10, false, true))); diff != "" {
		t.Errorf("once, no room: %s", diff)
	}
}
