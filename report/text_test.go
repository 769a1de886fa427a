package report_test

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/nodeforensics/nodeforensics/report"
)

var colour = regexp.MustCompile("\x1b\\[[0-9;]*m")

func TestTextColour(t *testing.T) {
	r := load(t, "hung-mount")
	plain := text(t, r, report.TextOptions{})
	painted := text(t, r, report.TextOptions{Color: true})
	if strings.Contains(plain, "\x1b") {
		t.Error("colour that nobody asked for")
	}
	if !strings.Contains(painted, "\x1b[1;31mCRITICAL\x1b[0m") {
		t.Error("critical is not painted")
	}
	if colour.ReplaceAllString(painted, "") != plain {
		t.Error("colour changes the words")
	}
}

// Only commands and file names are wider than asked for: people copy them.
func TestTextWidth(t *testing.T) {
	for _, width := range []int{0, 40, 60, 80, 132} {
		for _, name := range []string{"hung-mount", "healthy", "nothing-checked"} {
			r := load(t, name)
			whole := map[string]bool{}
			for _, d := range r.Diagnoses {
				for _, step := range d.Remedies {
					whole[step.String()] = true
				}
			}
			most := width
			if most == 0 {
				most = 80
			}
			for line := range strings.Lines(text(t, r, report.TextOptions{Width: width})) {
				line = strings.TrimSuffix(line, "\n")
				_, command, _ := strings.Cut(line, ". ")
				if utf8.RuneCountInString(line) > most && !whole[command] {
					t.Errorf("%s at %d columns: %q", name, width, line)
				}
			}
		}
	}
}
