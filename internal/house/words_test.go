package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/internal/wording"
)

// TestWords reads every sentence that this program can say, and those of its documents: none has words that are not to be said, none is
// too long.
func TestWords(t *testing.T) {
	sentences := 0
	check := func(t *testing.T, place, text string) {
		sentences++
		for _, problem := range append(wording.Refused(text), wording.Long(text)...) {
			t.Errorf("%s: %s", place, problem)
		}
	}
	for _, dir := range []string{"cmd", "forensics", "report", "internal"} {
		t.Run(dir, func(t *testing.T) {
			walk(t, filepath.Join("../..", dir), func(name string) { sourceSentences(t, name, check) })
		})
	}
	t.Run("documents", func(t *testing.T) {
		for _, name := range []string{"README.md"} {
			text, err := os.ReadFile("../../" + name)
			if err != nil {
				t.Fatal(err)
			}
			check(t, name, withoutCode(string(text)))
		}
	})
	if sentences < 2000 {
		t.Errorf("only %d sentences were read", sentences)
	}
}

// walk visits sources and templates of the program; tests and what is only for them are other people's words.
func walk(t *testing.T, root string, visit func(name string)) {
	t.Helper()
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		base := filepath.Base(name)
		switch {
		case err != nil:
			return err
		case d.IsDir() && (base == "testdata" || base == "wording" || strings.HasPrefix(base, "test")):
			return filepath.SkipDir
		case !d.IsDir() && !strings.HasSuffix(name, "_test.go") && (strings.HasSuffix(name, ".go") || strings.HasSuffix(name, ".html")):
			visit(name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

var (
	letters = regexp.MustCompile(`\pL{2,} +\pL{2,}`)
	markup  = regexp.MustCompile(`(?s)<style.*?</style>|<script.*?</script>|\{\{.*?\}\}|<[^>]*>`)
	fence   = regexp.MustCompile("(?s)```.*?```|`[^`]*`|\\[|\\]\\([^)]*\\)")
	// patternOf are fields and functions whose strings are other programs' words, which are looked for.
	patternOf = regexp.MustCompile(`^(regexp|strings|bytes|lazy)$`)
)

// sourceSentences are the texts of a file.
func sourceSentences(t *testing.T, name string, check func(t *testing.T, place, text string)) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasSuffix(name, ".html") {
		for block := range strings.SplitSeq(string(text), "\n\n") {
			if s := markup.ReplaceAllString(block, "\n\n"); letters.MatchString(s) {
				check(t, name, s)
			}
		}
		return
	}
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr: // what is looked for in the words of others
			if f, ok := n.Fun.(*ast.SelectorExpr); ok {
				if x, ok := f.X.(*ast.Ident); ok && patternOf.MatchString(x.Name) {
					return false
				}
			}
		case *ast.CaseClause:
			for _, s := range n.Body {
				ast.Inspect(s, func(m ast.Node) bool { return sentenceOf(t, set, m, check) })
			}
			return false
		}
		return sentenceOf(t, set, n, check)
	})
}

func sentenceOf(t *testing.T, set *token.FileSet, n ast.Node, check func(t *testing.T, place, text string)) bool {
	t.Helper()
	switch n := n.(type) {
	case *ast.BinaryExpr: // a sentence in several strings
		if s, ok := joined(n); ok && n.Op == token.ADD {
			if letters.MatchString(s) {
				check(t, set.Position(n.Pos()).String(), s)
			}
			return false
		}
	case *ast.BasicLit:
		if s, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING && letters.MatchString(s) {
			check(t, set.Position(n.Pos()).String(), s)
		}
	}
	return true
}

// joined is a sum of strings; what is no string in it is a name.
func joined(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BinaryExpr:
		x, ok := joined(e.X)
		y, also := joined(e.Y)
		return x + y, e.Op == token.ADD && (ok || also)
	case *ast.BasicLit:
		s, err := strconv.Unquote(e.Value)
		return s, err == nil && e.Kind == token.STRING
	}
	return "%s", false
}

func withoutCode(markdown string) string {
	var lines []string
	for line := range strings.Lines(fence.ReplaceAllString(markdown, " NAME ")) {
		if strings.HasPrefix(line, "|") {
			line = strings.ReplaceAll(line, "|", ".\n\n")
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "")
}
