package logs

import (
	"go/ast"
	goparser "go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// declaredKinds are the values of the constants in the files kinds_*.go.
func declaredKinds(t *testing.T) []Kind {
	t.Helper()
	files, err := filepath.Glob("kinds_*.go")
	if err != nil {
		t.Fatal(err)
	}
	var kinds []Kind
	for _, name := range files {
		file, err := goparser.ParseFile(token.NewFileSet(), name, nil, goparser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			v, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			if kind, ok := v.Type.(*ast.Ident); ok && kind.Name == "Kind" {
				s, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				kinds = append(kinds, Kind(s))
			}
			return true
		})
	}
	return kinds
}

func TestEveryKindHasOneRow(t *testing.T) {
	rows := map[Kind]int{}
	for _, m := range messages() {
		if rows[m.kind]++; rows[m.kind] > 1 {
			t.Errorf("%s has %d rows", m.kind, rows[m.kind])
		}
	}
	declared := declaredKinds(t)
	if len(declared) < 150 {
		t.Errorf("only %d kinds", len(declared))
	}
	for _, k := range declared {
		if rows[k] == 0 {
			t.Errorf("%s has no row", k)
		}
	}
}

func TestNoiseHasReasons(t *testing.T) {
	for _, m := range messages() {
		noise := m.kind.Severity() == SeverityNoise
		if (m.harmless != "") != noise || (m.severity == SeverityNoise) != noise || strings.HasPrefix(string(m.kind), noisePrefix) != noise {
			t.Errorf("%s: severity %q, reason %q", m.kind, m.severity, m.harmless)
		}
		if noise && (m.lane != "" || !book.messages[m.kind].summed) {
			t.Errorf("%s: lane %q of what is no trouble", m.kind, m.lane)
		}
	}
	if Kind("noise-of-a-later-version").Severity() != SeverityNoise || Kind("later").Severity() != severityNotice {
		t.Error("noise is not known by its name")
	}
}

func TestRowsAreValid(t *testing.T) {
	for _, m := range messages() {
		switch m.lane {
		case "", LaneSyncLoop, LaneDeletions, LaneVolumes, LaneDisk, LaneRuntime, LaneKernel:
		default:
			t.Errorf("%s: no lane %q", m.kind, m.lane)
		}
		switch m.severity {
		case severityNotice, SeverityRoutine, SeverityNoise:
		default:
			t.Errorf("%s: no severity %q", m.kind, m.severity)
		}
		if m.severity == SeverityRoutine && m.lane != "" {
			t.Errorf("%s: daily work is drawn as trouble", m.kind)
		}
	}
	if got := KindKernelIOError.Lane(); got != LaneKernel {
		t.Errorf("an I/O error is in lane %q", got)
	}
	if got := kindSyncLoopAdd.Severity(); got != SeverityRoutine {
		t.Errorf("a pod that is added is %q", got)
	}
	if Words(KindOrphan) != "orphaned pod directory cannot be removed" || Words(KindKernelIOTimeout) != "io timeout" {
		t.Errorf("words %q, %q", Words(KindOrphan), Words(KindKernelIOTimeout))
	}
}
