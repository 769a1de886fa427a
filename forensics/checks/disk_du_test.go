package checks

import (
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/eviction"
)

// TestDuMeetsNoMount: du waits for ever at a mount point that does not answer, with -x, too.
func TestDuMeetsNoMount(t *testing.T) {
	steps := map[bool]int{}
	judge := func(name string, e *forensics.Evidence) {
		for _, f := range forensics.Analyze(e, All()).Findings {
			for _, r := range f.Remedies {
				du := len(r.Command) > 0 && r.Command[0] == "du"
				steps[du]++
				if !du {
					continue
				}
				for _, m := range e.Mounts.Mounts {
					if dir := r.Command[len(r.Command)-1]; m.MountPoint != "/" && strings.HasPrefix(m.MountPoint, strings.TrimSuffix(dir, "/")+"/") {
						t.Errorf("%s: %q comes across the mount at %s", name, r.String(), m.MountPoint)
					}
				}
			}
		}
	}
	for id, list := range scenarios {
		for _, s := range list {
			e := s.base(t)
			if s.change != nil {
				s.change(t, &e)
			}
			judge(id+", "+s.name, &e)
		}
	}
	for _, dir := range []string{"/srv", "/mnt", "/", "/var/lib"} { // a mount is below the last three
		e := sickNode(t)
		disk(9, func(d *eviction.State) {
			d.Usage = []eviction.Usage{{
				Device: "254:0", UsedBytes: 86, CountedBytes: 86, Kinds: []eviction.KindSum{{Kind: eviction.KindOther, Bytes: 86, Items: 1}},
				Items: []eviction.Item{{Kind: eviction.KindOther, Path: dir, Bytes: 86}},
			}}
		})(t, &e)
		judge(dir, &e)
	}
	if steps[true] < 2 || steps[false] == 0 {
		t.Errorf("du is told %d times, and %d other steps", steps[true], steps[false])
	}
}
