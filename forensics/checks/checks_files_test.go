package checks

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestOneFileForEachCheck: a check is found by its ID. The file of that name declares it, and there are no other files but the list.
func TestOneFileForEachCheck(t *testing.T) {
	known := map[string]bool{"all.go": true}
	for _, c := range All() {
		name := strings.ReplaceAll(c.ID, "-", "_") + ".go"
		known[name] = true
		if declared := declaredIn(t, name); len(declared) != 1 || declared[0] != c.ID {
			t.Errorf("%s declares the checks %q, want %q alone", name, declared, c.ID)
		}
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if !strings.HasSuffix(name, "_test.go") && !known[name] {
			t.Errorf("%s is the file of no check: what several checks need is in internal", name)
		}
	}
}

// declaredIn lists the IDs of the checks that a file declares.
func declaredIn(t *testing.T, name string) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	ast.Inspect(file, func(n ast.Node) bool {
		literal, ok := n.(*ast.CompositeLit)
		if !ok {
			return true
		}
		if kind, ok := literal.Type.(*ast.SelectorExpr); !ok || kind.Sel.Name != "Check" {
			return true
		}
		for _, e := range literal.Elts {
			field, ok := e.(*ast.KeyValueExpr)
			if !ok {
				continue
			}
			key, _ := field.Key.(*ast.Ident)
			value, ok := field.Value.(*ast.BasicLit)
			if key == nil || key.Name != "ID" || !ok {
				continue
			}
			id, err := strconv.Unquote(value.Value)
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, id)
		}
		return true
	})
	return ids
}
