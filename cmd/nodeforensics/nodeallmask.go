package main

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/nodeforensics/nodeforensics/forensics/redact"
	"github.com/nodeforensics/nodeforensics/internal/reach"
	"github.com/nodeforensics/nodeforensics/report"
)

// keyFile is the key of the placeholders of many reports, in their directory, so that more of them can be made.
const keyFile = "redact-key.secret"

// useKey has nodes mask with a key. They read it from standard input, since others see command lines.
func (f *nodeFlags) useKey(key []byte) {
	f.Stdin, f.keyName = keyLine(key), keyName(key)
	f.Args = append(f.Args, "--redact-key=-")
}

// checkKey refuses a report that was not masked with the key of the run.
func (f *nodeFlags) checkKey(r *report.Report) error {
	if f.keyName != "" && r.Evidence.Collector.RedactionKey != f.keyName {
		return errors.New("its report was not masked with the key of this run, and is not stored: is nodeforensics on the node an older version?")
	}
	return nil
}

// maskNames makes the key of the run, or reads it, if names are masked.
func (r *round) maskNames() error {
	file := filepath.Join(r.dir, keyFile)
	strict, given := r.f.output.redact == redactStrict, r.f.output.redactKey != ""
	switch {
	case r.stored[file] && !strict:
		return fmt.Errorf("--output-dir %s: names are masked in the reports there: use --redact=strict, or another directory", r.dir)
	case !strict && !given:
		return nil
	case strict && !given && !r.stored[file]:
		if slices.ContainsFunc(slices.Collect(maps.Keys(r.stored)), isFleetFile.MatchString) {
			return fmt.Errorf("--output-dir %s: names are not masked in the reports there: use another directory", r.dir)
		}
		key, err := newRedactKey()
		if err != nil {
			return err
		}
		text, err := newRendering(keyFile, writing([]byte(keyLine(key)+"\n")))
		if err == nil {
			_, err = r.writeFiles(nil, parcel{Dir: r.dir, Replace: true}, []rendering{text}, r.f.output.deadline)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		r.f.output.redactKey = file
	case !given:
		r.f.output.redactKey = file
	}
	key, _, err := r.f.output.sharedKey()
	if err != nil {
		return err
	}
	r.f.useKey(key)
	if strict {
		r.names = &maskedNodes{redact.New(key).Identities(), map[string]string{}}
		r.note("names are masked with the key in %s. Who has the key can test guesses of names: do not pass it on with the reports", r.f.output.redactKey)
	}
	return nil
}

// maskedNodes are what nodes are called in reports with masked names. Nil masks nothing.
type maskedNodes struct {
	identities *redact.Identities
	name       map[string]string
}

// learn makes the names of nodes known.
func (m *maskedNodes) learn(nodes []string) {
	if m == nil {
		return
	}
	for _, node := range nodes {
		m.identities.Learn(redact.Host, node)
	}
	for _, node := range nodes {
		m.name[node] = m.identities.Name("node", redact.Host, node)
	}
}

// learnPods makes the names of pods known, which stand in reasons. The usual namespace tells nothing.
func (m *maskedNodes) learnPods(pods *reach.Pods, namespace string) {
	if m == nil {
		return
	}
	if namespace != usualNamespace {
		m.identities.Learn(redact.Namespace, namespace)
	}
	for _, pod := range pods.Names() {
		m.identities.Learn(redact.Pod, pod)
	}
}

// of is the masked name of a node.
func (m *maskedNodes) of(node string) string {
	if m == nil {
		return node
	}
	return m.name[node]
}

// mask masks a node of the API server.
func (m *maskedNodes) mask(n *reach.Node) {
	if m == nil {
		return
	}
	n.Metadata.Name = m.of(n.Metadata.Name)
	for label, value := range n.Metadata.Labels {
		n.Metadata.Labels[label] = m.identities.Text("node", value)
	}
}

// maskFailed masks what is said of nodes without a report.
func (m *maskedNodes) maskFailed(list []notExamined) []notExamined {
	masked := append([]notExamined{}, list...)
	if m == nil {
		return masked
	}
	for i := range masked {
		n := &masked[i]
		n.Node, n.Reason, n.Tried = m.of(n.Node), m.identities.Text("node", n.Reason), slices.Clone(n.Tried)
		for j := range n.Tried {
			n.Tried[j].Way, n.Tried[j].Why = m.identities.Text("node", n.Tried[j].Way), m.identities.Text("node", n.Tried[j].Why)
		}
	}
	return masked
}
