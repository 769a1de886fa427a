package live

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/internal/nodefs"
)

// Of several problems a reader is shown the first.
func TestWhatDoesNotAnswerIsToldBeforeWhatWasCut(t *testing.T) {
	var p problems
	p.add("memory maps", fmt.Errorf("maps of pid 18: %w", nodefs.ErrTruncated))
	p.add("descriptors", errors.New("too many"))
	p.add("processes that do not answer", fmt.Errorf("pid 19: %w within 1s", errNoAnswer))
	if list := p.list(); len(list) != 3 || !strings.Contains(list[0].Error(), "pid 19") || !strings.Contains(list[1].Error(), "pid 18") {
		t.Errorf("%v", list)
	}
}
