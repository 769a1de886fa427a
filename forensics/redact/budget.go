package redact

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/nodeforensics/nodeforensics/internal/pattern"
)

// Whoever writes a command line or a log line also decides how much work it is to look through it. So a field has two
// budgets: how many bytes of it are looked at and shown, and how many steps that may take. What is beyond either is cut
// off and said. Nothing that people write comes near.
const (
	// fieldBudget is in bytes.
	fieldBudget = 32 << 10
	// cutBack is how much of what was looked at is not shown: a secret that goes on there is seen as a whole.
	cutBack = 4 << 10
	// Steps are bytes looked at. Texts without secrets need two for a byte.
	stepsAtLeast = 1 << 18
	stepsPerByte = 24
	// stepsPerTrigger is what a closer look costs that ends at once.
	stepsPerTrigger = 16
	// stepsPerSecret is what its placeholder costs.
	stepsPerSecret = 64
)

// newFuel is the steps that some texts may take together.
func newFuel(texts ...string) *int {
	steps := stepsAtLeast
	for _, s := range texts {
		steps += stepsPerByte * min(len(s), fieldBudget)
	}
	return &steps
}

// spend takes away steps for the bytes that have been looked at.
func (f *finding) spend(steps int) {
	if steps > 0 {
		*f.fuel -= steps
	}
}

// cutNote says how much is missing.
func cutNote(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return fmt.Sprintf("…(cut: %s bytes not shown)", digits)
}

// note matches what cutNote writes.
var note = pattern.New(`…\(cut: ([0-9,]+) bytes not shown\)$`)

// takeNote takes the note off a text that was cut before.
func takeNote(s string) (text string, missing int) {
	if !strings.HasSuffix(s, " bytes not shown)") {
		return s, 0
	}
	if m := note.FindStringSubmatchIndex(s); m != nil {
		if n, err := strconv.Atoi(strings.ReplaceAll(s[m[2]:m[3]], ",", "")); err == nil {
			return s[:m[0]], n
		}
	}
	return s, 0
}

// shownOf is how many bytes of a text are shown. A text over the budget ends at a blank, or else well before what is looked
// at ends: half a secret does not look like one.
func shownOf(s string) int {
	if len(s) <= fieldBudget {
		return len(s)
	}
	if blank := strings.LastIndexAny(s[:fieldBudget-cutBack], " \n\t"); blank > fieldBudget-2*cutBack {
		return blank
	}
	end := fieldBudget - cutBack
	for end > fieldBudget-cutBack-utf8.UTFMax && !utf8.RuneStart(s[end]) {
		end--
	}
	return end
}
