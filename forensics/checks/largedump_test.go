package checks

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
)

// A dump that is too large to be kept whole gives the same findings as if it were: examples and numbers are enough. Each
// case of testdata/stacks becomes a crowd, with waits of all ages, and pointers of their own.
func TestLargeDumpsGiveTheSameFindings(t *testing.T) {
	t.Parallel()
	compared, summed := map[string]int{}, 0
	each(t, func(t *testing.T, c stackCase) {
		text := crowded(c.dump, 60, rand.New(rand.NewPCG(1, uint64(len(c.dump)))))
		e := c.evidence(t, c.dump)
		for dumps := 1; dumps <= 2; dumps++ {
			whole := judgeDump(t, &e, text, dumps, goroutines.Digester{Whole: 1 << 20, Bytes: 1 << 30})
			small := judgeDump(t, &e, text, dumps, goroutines.Digester{Whole: 200, Keep: 3})
			summed += e.Dumps[0].Summed
			if diff := cmp.Diff(whole, small); diff != "" {
				t.Errorf("%d dumps, findings (-whole +summed):\n%s", dumps, diff)
			}
			for _, f := range whole {
				compared[f.ID]++
			}
		}
	})
	if summed < 5000 || len(compared) < 8 || compared["kubelet-goroutine-leak"] == 0 || compared["kubelet-lock-contention"] == 0 {
		t.Errorf("too little to compare: %d goroutines summed up, findings %v", summed, compared)
	}
}

// judged is what must not depend on how a dump was kept.
type judged struct {
	ID, Title  string
	Severity   forensics.Severity
	Subject    forensics.Entity
	Because    forensics.Entity // the first
	Confidence forensics.Confidence
	Why        string
}

// judgeDump judges a dump of the evidence's kubelet, taken so often. What a second dump proves is proven of the examples
// alone, so that a number of goroutines can be smaller then.
func judgeDump(t *testing.T, e *forensics.Evidence, text string, times int, d goroutines.Digester) []judged {
	t.Helper()
	first := e.Dumps[0]
	e.Dumps = nil
	for i := range times {
		dumps, _, err := d.Digest(strings.NewReader(text))
		if err != nil || len(dumps) != 1 {
			t.Fatal(len(dumps), err)
		}
		taken := time.Date(2026, 11, 20, 10, 0, 20*i, 0, time.UTC)
		e.Dumps = append(e.Dumps, forensics.Dump{Source: first.Source, PID: first.PID, Taken: &taken, Dump: dumps[0]})
	}
	var all []judged
	for _, f := range forensics.Analyze(e, All()).Findings {
		j := judged{ID: f.ID, Title: f.Title, Severity: f.Severity, Subject: f.Subject, Confidence: f.Confidence, Why: f.ConfidenceWhy}
		if len(f.Because) > 0 {
			j.Because = f.Because[0]
		}
		if times > 1 {
			j.Title = numberOf.ReplaceAllString(j.Title, "some ")
		}
		all = append(all, j)
	}
	return all
}

var (
	blockHeader = regexp.MustCompile(`^goroutine (\d+) \[([^],]+)(?:, (\d+) minutes)?`)
	numberOf    = regexp.MustCompile(`\b[\d,]+ (?:stuck )?(?:goroutines?|volume operations?|pod workers?|pods?)\b`)
	heapPointer = regexp.MustCompile(`0x(c0|63d|28085)[0-9a-f]{6,}`)
)

// crowded repeats each goroutine of a dump. The copies follow all originals and have numbers of their own; of each second one
// the pointers are others, so that it waits for another lock and on another object.
func crowded(dump string, copies int, random *rand.Rand) string {
	blocks := strings.Split(strings.TrimSpace(strings.ReplaceAll(dump, "\r", "")), "\n\n")
	var b strings.Builder
	b.WriteString(strings.Join(blocks, "\n\n") + "\n\n")
	id := 100_000
	for i := range copies {
		for _, block := range blocks {
			if strings.Contains(block, "[running") {
				continue
			}
			id++
			text := blockHeader.ReplaceAllStringFunc(block, func(header string) string {
				m := blockHeader.FindStringSubmatch(header)
				minutes := []int{0, 0, 1, 2, 3, 5}[random.IntN(6)]
				if minutes == 0 {
					return fmt.Sprintf("goroutine %d [%s", id, m[2])
				}
				return fmt.Sprintf("goroutine %d [%s, %d minutes", id, m[2], minutes)
			})
			if i%2 == 1 {
				text = heapPointer.ReplaceAllStringFunc(text, func(p string) string { return p[:len(p)-5] + fmt.Sprintf("%02x", i) + p[len(p)-3:] })
			}
			b.WriteString(text + "\n\n")
		}
	}
	return b.String()
}
