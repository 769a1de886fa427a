// Package testschema makes the JSON Schema of a Go type, for tests: shapes by reflection, as encoding/json sees them; descriptions and the
// words of string types from the source, where reflection does not see them.
package testschema

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/internal/golden"
	"github.com/nodeforensics/nodeforensics/internal/packed"
)

const (
	modulePath = "github.com/nodeforensics/nodeforensics/"
	idPrefix   = "https://github.com/nodeforensics/nodeforensics/raw/main/"
)

// ID is the identifier of the schema that is a file of this module.
func ID(file string) string { return idPrefix + file }

// Check fails if the schema of a type is not what schema.json has in the directory of the test, or not the current one, which the program
// has. With -update it writes that file and, where there is one, the compressed schema.json.gz. File is its path in the module, name the value
// of the first field.
func Check(t *testing.T, root reflect.Type, file, title, name, current string) {
	t.Helper()
	top := strings.Repeat("../", strings.Count(file, "/"))
	got := schemaOf(t, root, top, ID(file), title, name)
	if golden.Update() {
		write(t, "schema.json", got)
		return
	}
	if text, err := os.ReadFile("schema.json"); err != nil || string(got) != current || !bytes.Equal(text, got) {
		t.Errorf("the JSON changed its shape, and %s is stale: go generate ./%s, and read the difference", file, path.Dir(file))
	}
	if again := schemaOf(t, root, top, ID(file), title, name); !bytes.Equal(got, again) {
		t.Error("the schema is not the same every time")
	}
}

func write(t *testing.T, name string, schema []byte) {
	t.Helper()
	if err := os.WriteFile(name, schema, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(name + ".gz"); err != nil {
		return
	}
	text, err := packed.Pack(schema)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name+".gz", text, 0o644); err != nil {
		t.Fatal(err)
	}
}

func schemaOf(t testing.TB, rootType reflect.Type, top, id, title, schema string) []byte {
	t.Helper()
	g := maker{t: t, top: top, defs: map[string]reflect.Type{}, sources: map[string]*goSource{}}
	root := g.object(rootType)
	head := object{
		{name: "$schema", value: "https://json-schema.org/draft/2020-12/schema"},
		{name: "$id", value: id},
		{name: "title", value: title},
	}
	defs, done := object{}, map[string]bool{}
	for len(done) < len(g.defs) { // a definition may name further ones
		for _, name := range sortedKeys(g.defs) {
			if !done[name] {
				done[name] = true
				defs = append(defs, member{name: name, value: g.define(g.defs[name])})
			}
		}
	}
	slices.SortFunc(defs, func(a, b member) int { return strings.Compare(a.name, b.name) })
	for i := range root { // which schema it is
		if properties, ok := root[i].value.(object); ok && root[i].name == "properties" {
			properties[0].value = append(object{{name: "const", value: schema}}, properties[0].value.(object)...)
		}
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(append(append(head, root...), member{name: "$defs", value: defs})); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

type maker struct {
	t       testing.TB
	top     string // directory of the module
	defs    map[string]reflect.Type
	sources map[string]*goSource // by import path
}

// object is a JSON object whose members keep their order.
type object []member

type member struct {
	name  string
	value any
}

func (o object) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			out = append(out, ',')
		}
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(m.value); err != nil {
			return nil, err
		}
		out = append(append(strconv.AppendQuote(out, m.name), ':'), b.Bytes()...)
	}
	return append(out, '}'), nil
}

// shape is the schema of a type where it is used.
func (g *maker) shape(t reflect.Type) object {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return object{{name: "type", value: "string"}, {name: "format", value: "date-time"}}
	case t.Kind() == reflect.Struct, t.Kind() == reflect.String && len(g.words(t)) > 0:
		return object{{name: "$ref", value: "#/$defs/" + g.name(t)}}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return g.shape(t.Elem())
	case reflect.String:
		return object{{name: "type", value: "string"}}
	case reflect.Bool:
		return object{{name: "type", value: "boolean"}}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return object{{name: "type", value: "integer"}}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return object{{name: "type", value: "integer"}, {name: "minimum", value: 0}}
	case reflect.Float32, reflect.Float64:
		return object{{name: "type", value: "number"}}
	case reflect.Slice, reflect.Array:
		return object{{name: "type", value: "array"}, {name: "items", value: g.shape(t.Elem())}}
	case reflect.Map:
		return object{{name: "type", value: "object"}, {name: "additionalProperties", value: g.shape(t.Elem())}}
	}
	g.t.Fatalf("no schema for %v", t)
	return nil
}

// name is that of a definition: the type's, for those of the leaf packages with the package before it.
func (g *maker) name(t reflect.Type) string {
	name := t.Name()
	if p := path.Base(t.PkgPath()); p != "report" && p != "fleet" && p != "forensics" {
		name = p + "." + name
	}
	if old, ok := g.defs[name]; ok && old != t {
		g.t.Fatalf("%v and %v have the same name", old, t)
	}
	g.defs[name] = t
	return name
}

func (g *maker) define(t reflect.Type) object {
	if t.Kind() == reflect.String {
		words := append(described(g.source(t).types[t.Name()]), member{name: "type", value: "string"})
		if t == reflect.TypeFor[logs.Kind]() { // every version knows more kinds of messages
			return words
		}
		return append(words, member{name: "enum", value: g.words(t)})
	}
	return g.object(t)
}

func (g *maker) object(t reflect.Type) object {
	properties, required := object{}, []string{}
	g.fields(t, &properties, &required)
	return append(described(g.source(t).types[t.Name()]),
		member{name: "type", value: "object"}, member{name: "properties", value: properties}, member{name: "required", value: required}, member{name: "additionalProperties", value: true})
}

// fields adds those of a struct, and those of embedded structs, as encoding/json does.
func (g *maker) fields(t reflect.Type, properties *object, required *[]string) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, tagged := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case !f.IsExported() && !f.Anonymous, name == "-":
			continue
		case f.Anonymous && name == "":
			g.fields(f.Type, properties, required)
			continue
		case name == "":
			name = f.Name
		}
		*properties = append(*properties, member{name: name, value: append(described(g.source(t).fields[t.Name()+"."+f.Name]), g.shape(f.Type)...)})
		empties := f.Type.Kind() != reflect.Struct || strings.Contains(options, "omitzero")
		if !tagged || !strings.Contains(options, "omit") || !empties {
			if f.Type.Kind() == reflect.Pointer {
				g.t.Errorf("%v.%s is null where it is not known: want omitempty", t, f.Name)
			}
			*required = append(*required, name)
		}
	}
}

func described(text string) object {
	if text == "" {
		return object{}
	}
	return object{{name: "description", value: text}}
}

// words are the constants of a string type.
func (g *maker) words(t reflect.Type) []string {
	if t.PkgPath() == "" {
		return nil
	}
	return g.source(t).words[t.Name()]
}

// goSource is what the source of a package says of its types.
type goSource struct {
	types, fields map[string]string // comments
	words         map[string][]string
}

func (g *maker) source(t reflect.Type) *goSource {
	if s := g.sources[t.PkgPath()]; s != nil {
		return s
	}
	s := &goSource{types: map[string]string{}, fields: map[string]string{}, words: map[string][]string{}}
	g.sources[t.PkgPath()] = s
	dir, ok := strings.CutPrefix(t.PkgPath(), modulePath)
	if !ok {
		g.t.Fatalf("%v is no type of this module", t)
	}
	files, err := filepath.Glob(filepath.Join(g.top, dir, "*.go"))
	if err != nil || len(files) == 0 {
		g.t.Fatalf("no source of %s: %v", dir, err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			g.t.Fatal(err)
		}
		for _, decl := range file.Decls {
			if d, ok := decl.(*ast.GenDecl); ok {
				s.read(d)
			}
		}
	}
	return s
}

func (s *goSource) read(d *ast.GenDecl) {
	for _, spec := range d.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			s.types[spec.Name.Name] = comment(spec.Doc, d.Doc)
			if st, ok := spec.Type.(*ast.StructType); ok {
				for _, f := range st.Fields.List {
					for _, name := range f.Names {
						s.fields[spec.Name.Name+"."+name.Name] = comment(f.Doc, f.Comment)
					}
				}
			}
		case *ast.ValueSpec:
			typ, ok := spec.Type.(*ast.Ident)
			if d.Tok != token.CONST || !ok {
				continue
			}
			for _, v := range spec.Values {
				if lit, ok := v.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					word, _ := strconv.Unquote(lit.Value)
					s.words[typ.Name] = append(s.words[typ.Name], word)
				}
			}
		}
	}
}

var docLink = regexp.MustCompile(`\[([A-Za-z.]+)\]`)

// comment is the first that there is, as one line.
func comment(groups ...*ast.CommentGroup) string {
	for _, g := range groups {
		if g != nil {
			return docLink.ReplaceAllString(strings.Join(strings.Fields(g.Text()), " "), "$1")
		}
	}
	return ""
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
