package read

import (
	"errors"
	"fmt"
	"io"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
)

// Dumps reads all goroutine dumps of one source, of any form. Of large dumps, examples are kept and the other goroutines
// are counted; see [goroutines.Digester]. Input without a dump is an error.
func Dumps(source string, r io.Reader) ([]forensics.Dump, error) {
	return DigestDumps(source, r, goroutines.Digester{})
}

// DigestDumps is [Dumps] with other limits.
func DigestDumps(source string, r io.Reader, digester goroutines.Digester) ([]forensics.Dump, error) {
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
