package read

import (
	"fmt"
	"io"
	"slices"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// Mountinfo reads a mount table (/proc/PID/mountinfo) of at most 24 MB. With an error, which says how many
// lines are wrong, comes what the others say.
func Mountinfo(name string, in io.Reader) (forensics.Evidence, error) {
	counted := &counter{r: in}
	list, errs := mounts.Parse(io.LimitReader(counted, maxMountTable))
	if counted.n == maxMountTable { // its last line is cut, too
		errs = slices.Insert(errs, 0, fmt.Errorf("the mount table has more than %d MB; the rest is not read", maxMountTable/1_000_000))
	}
	source := forensics.Source{Source: forensics.SourceMounts, Status: forensics.SourceRead, Detail: name, Bytes: counted.n}
	var err error
	if len(errs) > 0 {
		err = fmt.Errorf("%s, first: %w", text.Plural(len(errs), "bad line"), errs[0])
		source.Status, source.Detail = forensics.SourceTruncated, fmt.Sprintf("%s: %v", name, err)
	}
	return forensics.Evidence{Mounts: mounts.Table{Mounts: list}, Coverage: []forensics.Source{source}}, err
}
