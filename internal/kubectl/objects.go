package kubectl

import (
	"encoding/json"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"
)

var (
	yamlStart = regexp.MustCompile(`^(\s*)(- )?(?:apiVersion: \S+|kind: (?:Event|Pod|Node|List))\s*$`)
	yamlKey   = regexp.MustCompile(`^[\w./"'-]+:(?:\s|$)`)
	jsonStart = regexp.MustCompile(`^\s*\{\s*(?:$|"(?:apiVersion|kind|action|metadata|items)"\s*:)`)
)

// object takes the object of the API, or the list of them, at a line, and returns how many lines it has; 0 is none.
func (p *page) object(i int) int {
	line := p.lines[i]
	switch {
	case strings.Contains(line, "{") && jsonStart.MatchString(line):
		return p.json(i)
	case strings.Contains(line, "apiVersion:") || strings.Contains(line, "kind:"):
		return p.yaml(i)
	}
	return 0
}

func (p *page) json(i int) int {
	if near := strings.Join(p.lines[i:min(i+60, len(p.lines))], "\n"); !strings.Contains(near, `"apiVersion"`) && !strings.Contains(near, `"kind"`) {
		return 0
	}
	text := strings.Join(p.lines[i:], "\n")
	dec := json.NewDecoder(strings.NewReader(text))
	var value json.RawMessage
	if dec.Decode(&value) != nil {
		return 0
	}
	return p.take(value, i, strings.Count(text[:dec.InputOffset()], "\n")+1)
}

func (p *page) yaml(i int) int {
	m := yamlStart.FindStringSubmatch(p.lines[i])
	if m == nil {
		return 0
	}
	indent := len(m[1])
	n := 1
	for i+n < len(p.lines) && p.inYAML(i+n, indent) {
		n++
	}
	var b strings.Builder
	for _, line := range p.lines[i : i+n] {
		b.WriteString(strings.TrimPrefix(line, m[1]) + "\n")
	}
	value, err := yaml.YAMLToJSON([]byte(b.String()))
	if err != nil {
		return 0
	}
	if m[2] != "" { // the members of a list whose head is missing
		value = []byte(`{"kind":"List","apiVersion":"v1","items":` + string(value) + `}`)
	}
	return p.take(value, i, n)
}

// inYAML says whether a line is part of a document whose first line has an indentation.
func (p *page) inYAML(i, indent int) bool {
	line := p.lines[i]
	text := strings.TrimLeft(line, " ")
	switch blanks := len(line) - len(text); {
	case text == "":
		return i+1 < len(p.lines) && strings.HasPrefix(p.lines[i+1], strings.Repeat(" ", indent+1))
	case strings.HasPrefix(text, "---") && blanks == indent:
		return false
	case blanks > indent:
		return true
	default:
		return blanks == indent && (strings.HasPrefix(text, "- ") || yamlKey.MatchString(text))
	}
}

// take keeps an object of the API and empties its lines.
func (p *page) take(value []byte, i, n int) int {
	var says struct {
		Kind string `json:"kind"`
	}
	if json.Unmarshal(value, &says) != nil || says.Kind == "" || !known(says.Kind) {
		return 0
	}
	p.objects = append(append(p.objects, value...), '\n')
	for k := range n {
		p.lines[i+k] = ""
	}
	return n
}

// known leaves out what is a configuration file, and not what kubectl has printed.
func known(kind string) bool {
	switch strings.TrimSuffix(kind, "List") {
	case "Event", "Pod", "Node", "PersistentVolumeClaim", "PersistentVolume", "":
		return true
	}
	return false
}
