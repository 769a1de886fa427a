package house

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/nodeforensics/nodeforensics/"

// A goPackage is what go list says of one.
type goPackage struct {
	ImportPath, Dir, Doc string
	GoFiles, TestGoFiles []string
	XTestGoFiles         []string
	Imports, Deps        []string
}

func (p *goPackage) path() string { return strings.TrimPrefix(p.ImportPath, module) }

// list returns the packages of the module.
func list(t *testing.T) []goPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,Doc,GoFiles,TestGoFiles,XTestGoFiles,Imports,Deps", "./...")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("go list: %v: %s", err, exit.Stderr)
		}
		t.Fatal(err)
	}
	var packages []goPackage
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
	if len(packages) < 20 {
		t.Fatalf("only %d packages", len(packages))
	}
	return packages
}

// parse reads Go files of a directory.
func parse(t *testing.T, dir string, names []string) []*ast.File {
	t.Helper()
	var files []*ast.File
	for _, name := range names {
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return files
}

// exported lists the constants, variables, types and functions that a package exports; not methods and fields.
func exported(files []*ast.File) []string {
	var names []string
	add := func(id *ast.Ident) {
		if id.IsExported() {
			names = append(names, id.Name)
		}
	}
	for _, f := range files {
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil {
					add(d.Name)
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.TypeSpec:
						add(s.Name)
					case *ast.ValueSpec:
						for _, id := range s.Names {
							add(id)
						}
					}
				}
			}
		}
	}
	return names
}

// TestPure: what judges and what renders has neither the machine nor the network within reach.
func TestPure(t *testing.T) {
	forbidden := []string{
		"net", "net/http", "os/exec", "os/user", "crypto/x509", "crypto/tls", "github.com/shirou/gopsutil", "golang.org/x/sys",
		module + "internal/hostfs", module + "internal/probe",
	}
	pure := []string{"forensics", "forensics/checks", "report", "report/fleet"}
	checked := 0
	for _, p := range list(t) {
		if !slices.Contains(pure, p.path()) {
			continue
		}
		checked++
		for _, dep := range p.Deps {
			for _, f := range forbidden {
				if dep == f || strings.HasPrefix(dep, f+"/") && strings.Contains(f, ".") {
					t.Errorf("%s depends on %s", p.path(), dep)
				}
			}
		}
	}
	if checked != len(pure) {
		t.Errorf("%d of %d packages were there", checked, len(pure))
	}
}

// TestLive: what touches a node is used by what collects, by the command and by its like alone.
func TestLive(t *testing.T) {
	for _, p := range list(t) {
		name := p.path()
		if name == "forensics/collect" || strings.HasPrefix(name, "cmd/") || strings.HasPrefix(name, "examples/") || strings.HasSuffix(name, "/live") {
			continue
		}
		for _, dep := range p.Imports {
			if strings.HasPrefix(dep, module) && strings.HasSuffix(dep, "/live") {
				t.Errorf("%s imports %s", name, strings.TrimPrefix(dep, module))
			}
		}
	}
}

// TestSize keeps the library small enough to be known.
func TestSize(t *testing.T) {
	const mostOfForensics, mostOfModule, mostMethods = 140, 700, 40
	total := 0
	for _, p := range list(t) {
		name := p.path()
		if strings.HasPrefix(name, "internal/") || strings.Contains(name, "/internal/") || strings.HasPrefix(name, "cmd/") || strings.HasPrefix(name, "examples/") {
			continue
		}
		files := parse(t, p.Dir, p.GoFiles)
		n := len(exported(files))
		t.Logf("%4d %s", n, name)
		total += n
		if name != "forensics" {
			continue
		}
		if n > mostOfForensics {
			t.Errorf("package forensics exports %d names, at most %d", n, mostOfForensics)
		}
		if n := methods(files, "Model"); n > mostMethods || n == 0 {
			t.Errorf("Model has %d methods, at most %d", n, mostMethods)
		}
	}
	t.Logf("%4d together", total)
	if total > mostOfModule {
		t.Errorf("the module exports %d names, at most %d", total, mostOfModule)
	}
}

// methods counts those of a type.
func methods(files []*ast.File, of string) (n int) {
	for _, f := range files {
		for _, d := range f.Decls {
			m, ok := d.(*ast.FuncDecl)
			if !ok || m.Recv == nil {
				continue
			}
			receiver := m.Recv.List[0].Type
			if star, ok := receiver.(*ast.StarExpr); ok {
				receiver = star.X
			}
			if id, ok := receiver.(*ast.Ident); ok && id.Name == of {
				n++
			}
		}
	}
	return n
}

// TestDocumented: each package says what it is for, and those that people meet first show how they are used.
func TestDocumented(t *testing.T) {
	shown := []string{"forensics", "forensics/checks", "forensics/read", "report"}
	for _, p := range list(t) {
		if p.Doc == "" {
			t.Errorf("%s has no package comment", p.path())
		}
		if !slices.Contains(shown, p.path()) {
			continue
		}
		examples := 0
		for _, name := range exported(parse(t, p.Dir, append(p.TestGoFiles, p.XTestGoFiles...))) {
			if strings.HasPrefix(name, "Example") {
				examples++
			}
		}
		if examples == 0 {
			t.Errorf("%s has no example", p.path())
		}
	}
}

// TestNames: a thing is called what the kernel, Kubernetes or fuser call it.
func TestNames(t *testing.T) {
	refused := []string{"apart", "asked", "going", "held", "keeper", "mine", "standing", "told"}
	words := regexp.MustCompile(`[A-Z]?[a-z]+|[A-Z]+`)
	for _, p := range list(t) {
		if strings.HasPrefix(p.path(), "internal/test") {
			continue
		}
		for _, f := range parse(t, p.Dir, p.GoFiles) {
			declared(f, func(id *ast.Ident) {
				for _, word := range words.FindAllString(id.Name, -1) {
					if slices.Contains(refused, strings.ToLower(word)) {
						t.Errorf("%s: %s", p.path(), id.Name)
					}
				}
			})
		}
	}
}

// declared calls a function with each name that a file declares, but for labels.
func declared(f *ast.File, each func(*ast.Ident)) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			each(n.Name)
		case *ast.TypeSpec:
			each(n.Name)
		case *ast.ValueSpec:
			for _, id := range n.Names {
				each(id)
			}
		case *ast.Field:
			for _, id := range n.Names {
				each(id)
			}
		case *ast.AssignStmt:
			for _, e := range n.Lhs {
				if id, ok := e.(*ast.Ident); ok && n.Tok == token.DEFINE {
					each(id)
				}
			}
		}
		return true
	})
}

// TestExplained: CONTRIBUTING.md says what each package is for that somebody may look for.
func TestExplained(t *testing.T) {
	text, err := os.ReadFile("../../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list(t) {
		name := p.path()
		if strings.HasPrefix(name, "internal/") || strings.HasSuffix(name, "/live") || strings.Contains(name, "/internal/") {
			continue
		}
		if base := path.Base(name); !regexp.MustCompile("`([a-z/]+/)?" + base + "[`/]").Match(text) {
			t.Errorf("CONTRIBUTING.md does not name %s", name)
		}
	}
}

// TestRooms: a package is where its subject is. What is for tests and helpers is internal.
func TestRooms(t *testing.T) {
	err := filepath.WalkDir("../..", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		switch d.Name() {
		case "testdata", "node_modules", ".git":
			return filepath.SkipDir
		case "util", "utils", "common", "helpers", "misc":
			t.Errorf("%s says nothing of what is in it", name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
