//go:build rebuild

package checks

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// foreign are the packages, and the functions of checks, whose strings are other people's words that they look for.
var foreign = []string{
	"forensics/goroutines", // Go's
	"forensics/logs",       // the kubelet's, the kernel's and the runtimes'
	"forensics/procs",      // the kernel's
	"forensics/redact",     // anybody's
	"noRegistry",           // errors of a pull, which Go and the runtimes word
}

// A rewording is what becomes of sentences.
type rewording int

const (
	otherWords rewording = iota // each word is one that stands nowhere else
	noWords                     // they are empty
)

// reword writes the sources below a root with other sentences, says where they are to the go command (-overlay), and how many
// sentences were changed. What a text is compared with stays as it is, so that no comparison with a sentence of ours holds.
func reword(t *testing.T, root string, change rewording) (overlay string, changed int) {
	t.Helper()
	root, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	dir, replace := t.TempDir(), map[string]string{}
	err = filepath.WalkDir(filepath.Join(root, "forensics"), func(name string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(root, name)
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || slices.Contains(foreign, filepath.ToSlash(rel))):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		text, n, err := reworded(name, change)
		if err != nil || n == 0 {
			return err
		}
		changed += n
		replace[name] = filepath.Join(dir, strconv.Itoa(len(replace))+".go")
		return os.WriteFile(replace[name], text, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	overlay = filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlay, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return overlay, changed
}

// A rewriter changes the text of one file.
type rewriter struct {
	change rewording
	set    *token.FileSet
	text   []byte
	out    []byte
	done   int // so much of text is in out
	n      int
	empty  string // a function of the file that returns ""
}

func reworded(name string, change rewording) (text []byte, n int, err error) {
	text, err = os.ReadFile(name)
	if err != nil {
		return nil, 0, err
	}
	r := rewriter{change: change, set: token.NewFileSet(), text: text, empty: fmt.Sprintf("empty%d", hash(name))}
	file, err := parser.ParseFile(r.set, name, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, 0, err
	}
	ast.Inspect(file, r.visit)
	r.out = append(r.out, text[r.done:]...)
	if change == noWords {
		r.out = fmt.Appendf(r.out, "\nfunc %s(...any) string { return \"\" }\n", r.empty)
		if strings.Contains(string(text), "\t\"fmt\"\n") {
			r.out = append(r.out, "\nvar _ = fmt.Sprint\n"...)
		}
	}
	return r.out, r.n, nil
}

func (r *rewriter) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.ImportSpec, *ast.FieldList: // tags of fields
		_, fields := n.(*ast.FieldList)
		return fields && !hasTags(n.(*ast.FieldList))
	case *ast.FuncDecl:
		return !slices.Contains(foreign, n.Name.Name)
	case *ast.GenDecl:
		return n.Tok != token.CONST || r.change == otherWords
	case *ast.CaseClause: // the values are compared
		for _, s := range n.Body {
			ast.Inspect(s, r.visit)
		}
		return false
	case *ast.BinaryExpr:
		switch {
		case n.Op == token.EQL || n.Op == token.NEQ:
			return !isString(n.X) && !isString(n.Y)
		case n.Op == token.ADD && r.change == noWords && isSentence(n):
			r.replace(n.Pos(), n.End(), r.empty+"("+strings.Join(r.operands(n), ", ")+")")
			return false
		}
	case *ast.KeyValueExpr:
		if key, ok := n.Key.(*ast.Ident); ok && r.change == noWords && key.Name == "Instruction" {
			return false // a step has this or a command: it is no explanation
		}
	case *ast.CallExpr:
		switch {
		case compares(n):
			return false
		case r.change == noWords && (called(n, "remedy", "Tell") || calledHere(n, "Tell")): // as Instruction
			return false
		case called(n, "forensics", "Once"): // its key is no text
			ast.Inspect(n.Args[len(n.Args)-1], r.visit)
			return false
		}
		if r.change == noWords && called(n, "fmt", "Sprintf") && isSentence(n.Args[0]) {
			r.replace(n.Fun.Pos(), n.Fun.End(), r.empty)
			return false
		}
	case *ast.BasicLit:
		if isSentence(n) {
			r.literal(n)
		}
	}
	return true
}

// literal changes one string.
func (r *rewriter) literal(l *ast.BasicLit) {
	value, err := strconv.Unquote(l.Value)
	switch {
	case err != nil, r.change == noWords && strings.Contains(value, "%"): // a format of another function than Sprintf
		return
	case r.change == noWords:
		value = ""
	default:
		value = otherText(value, r.set.Position(l.Pos()).String())
	}
	r.replace(l.Pos(), l.End(), strconv.Quote(value))
}

func (r *rewriter) replace(from, to token.Pos, with string) {
	r.out = append(append(r.out, r.text[r.done:r.set.Position(from).Offset]...), with...)
	r.done = r.set.Position(to).Offset
	r.n++
}

// operands are the parts of a sum, as they stand in the file.
func (r *rewriter) operands(e ast.Expr) []string {
	if sum, ok := e.(*ast.BinaryExpr); ok && sum.Op == token.ADD {
		return append(r.operands(sum.X), r.operands(sum.Y)...)
	}
	return []string{string(r.text[r.set.Position(e.Pos()).Offset:r.set.Position(e.End()).Offset])}
}

func hasTags(list *ast.FieldList) bool {
	return slices.ContainsFunc(list.List, func(f *ast.Field) bool { return f.Tag != nil })
}

func isString(e ast.Expr) bool {
	l, ok := e.(*ast.BasicLit)
	return ok && l.Kind == token.STRING
}

// isSentence says whether an expression is a sentence or a part of one: a string with a letter and a space, or a sum of which
// one part is.
func isSentence(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BinaryExpr:
		return e.Op == token.ADD && (isSentence(e.X) || isSentence(e.Y))
	case *ast.BasicLit:
		value, err := strconv.Unquote(e.Value)
		return err == nil && e.Kind == token.STRING && strings.Contains(value, " ") && letter.MatchString(value)
	}
	return false
}

// compares says whether a call looks for its arguments in a text, or cuts it by them.
func compares(c *ast.CallExpr) bool {
	f, ok := c.Fun.(*ast.SelectorExpr)
	return ok && (called(c, "regexp", f.Sel.Name) || called(c, "pattern", "New") ||
		(called(c, "strings", f.Sel.Name) || called(c, "bytes", f.Sel.Name)) && comparing.MatchString(f.Sel.Name))
}

func called(c *ast.CallExpr, pkg, name string) bool {
	f, ok := c.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	x, ok := f.X.(*ast.Ident)
	return ok && x.Name == pkg && f.Sel.Name == name
}

func calledHere(c *ast.CallExpr, name string) bool {
	f, ok := c.Fun.(*ast.Ident)
	return ok && f.Name == name
}

var (
	comparing = regexp.MustCompile(`^(Contains|Count|Cut|EqualFold|HasPrefix|HasSuffix|Index|LastIndex|Split|Trim)`)
	letter    = regexp.MustCompile(`\pL`)
	// word is a verb of a format, or a word.
	word = regexp.MustCompile(`%[-+# 0]*(\[\d+\])?[*\d]*(\.[*\d]*)?(\[\d+\])?[a-zA-Z%]|\pL+`)
)

// otherText has a word of its own for each word of a text; verbs of a format stay.
func otherText(text, place string) string {
	return word.ReplaceAllStringFunc(text, func(w string) string {
		if w[0] == '%' {
			return w
		}
		place += "+"
		return fmt.Sprintf("q%xq", hash(place))
	})
}

func hash(s string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(s))
	return h.Sum32()
}
