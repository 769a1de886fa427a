package logs

import (
	"go/ast"
	goparser "go/parser"
	"go/token"
	"strconv"
	"testing"
)

// declaredKinds are the values of all constants in kinds.go.
func declaredKinds(t *testing.T) []Kind {
	t.Helper()
	file, err := goparser.ParseFile(token.NewFileSet(), "kinds.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []Kind
	ast.Inspect(file, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok {
			for _, value := range v.Values {
				s, err := strconv.Unquote(value.(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				kinds = append(kinds, Kind(s))
			}
		}
		return true
	})
	return kinds
}

func TestNoiseHasReasons(t *testing.T) {
	for _, k := range declaredKinds(t) {
		if got := NoiseReason(k) != ""; got != k.IsNoise() {
			t.Errorf("%s: has a reason %v, is noise %v", k, got, k.IsNoise())
		}
	}
}
