package read

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
	"github.com/nodeforensics/nodeforensics/internal/compressed"
)

// Dumps reads all goroutine dumps of one source, of any form, compressed or not. Of large dumps, examples are kept and the
// other goroutines are counted; limits other than those of a zero [goroutines.Digester] may be given. Input without a dump
// is an error.
func Dumps(source string, r io.Reader, limits ...goroutines.Digester) ([]forensics.Dump, error) {
	digester := goroutines.Digester{}
	for _, l := range limits {
		digester = l
	}
	buffered := bufio.NewReader(r)
	r = buffered
	if head, _ := buffered.Peek(10); !slices.Contains([]string{"", "gzip"}, compressed.Format(head)) { // which is a dump's own form, too
		text, err := compressed.Open(buffered)
		if err != nil {
			return nil, err
		}
		defer func() { _ = text.Close() }()
		r = text
	}
	parsed, problems, err := digester.Digest(r)
	var dumps []forensics.Dump
	for i, d := range parsed {
		dump := forensics.Dump{Source: source, Program: d.ProgramByFrames(), Dump: d, Problems: []goroutines.Problem{}}
		if i == 0 {
			dump.Problems = append(dump.Problems, problems...)
		}
		dumps = append(dumps, dump)
	}
	if err == nil && len(dumps) == 0 {
		err = errNoDump
		for _, p := range problems {
			if p.Line == 0 { // of the input as a whole
				err = fmt.Errorf("no goroutine dump: %s", p.Reason)
			}
		}
	}
	return dumps, err
}

// errNoDump says that a text has no dump, and nothing of one.
var errNoDump = errors.New("no goroutine dump")

// CutDump says that one of the dumps is truncated, "" if all are complete.
func CutDump(dumps []forensics.Dump) string {
	for _, d := range dumps {
		if !d.Truncated {
			continue
		}
		if n := len(d.Problems); n > 0 {
			return fmt.Sprintf("the dump is truncated: line %d: %s", d.Problems[n-1].Line, d.Problems[n-1].Reason)
		}
		return "the dump is truncated"
	}
	return ""
}
