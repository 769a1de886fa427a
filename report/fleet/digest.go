package fleet

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
)

// What is kept of a report at most. The rest is counted.
const (
	maxDiagnoses = 40
	maxFindings  = 5000 // whose ids are known while a report is read
	maxName      = 253  // bytes of a node's name, as RFC 1123 has it
	maxTitle     = 300  // bytes of a headline or an identity
	maxFact      = 120  // bytes
	maxFacts     = 24
	maxImages    = 8 // of drivers
	maxReason    = 300
)

// A digest is what is kept of one report.
type digest struct {
	name      string
	alias     string // what the kubelet calls the node
	collected *time.Time
	cut       string
	key       string // names the key of placeholders, if other runs had it, too
	facts     map[string]string
	diagnoses []diagnosis
	more      int // diagnoses that were not kept
	problems  int // findings worse than information
	made      int
	notMade   int
	// unanswered says that a mount had not responded when the run ended: it may be dead.
	unanswered bool
}

// diagnosis is what is kept of one root cause.
type diagnosis struct {
	forensics.Identity
	severity forensics.Severity
	title    string
	since    *time.Time
	pods     int
	fix      string
	finding  int // the first one; -1 without
}

// A document is what was read of one JSON document: a report, or objects of the API server.
type document struct {
	schema string
	report digest
	nodes  []apiNode
	isList bool // of objects
	kind   string
	// missing are nodes that could not be examined, of the list that "nodeforensics node --all" writes.
	missing []Missing
}

// errors of documents that are whole.
var (
	errNoSchema = errors.New("no report: the JSON has no schema")
	errEvidence = errors.New("evidence, not a report: run nodeforensics analyze on it first")
)

const (
	reportPrefix   = "nodeforensics.report/"
	evidencePrefix = "nodeforensics.evidence/"
	missingSchema  = "nodeforensics.not-examined/v1"
)

// understood says whether a whole document is something to read.
func (d *document) understood() error {
	switch {
	case d.schema == reportPrefix+"v2" || d.schema == reportPrefix+"v1" || d.schema == missingSchema:
		return nil
	case d.schema == schema:
		return errSummary
	case strings.HasPrefix(d.schema, evidencePrefix):
		return errEvidence
	case d.schema != "":
		return fmt.Errorf("schema %q, not %sv2", d.schema, reportPrefix)
	case len(d.nodes) > 0 || d.kind == "Node":
		return nil
	case d.isList:
		return errors.New("no nodes in this list of API objects")
	case d.kind != "":
		return fmt.Errorf("an API object of kind %q, not a report", d.kind)
	}
	return errNoSchema
}

// readDocument reads what is wanted of one document, in any order of its fields.
func (s *scanner) readDocument() (document, error) {
	var d document
	d.report.facts = map[string]string{}
	var checks []string
	one := apiNode{}
	err := s.object(func(key string) (err error) {
		switch key {
		case "schema":
			d.schema, err = s.text(maxFact)
		case "node":
			err = s.readNode(&d.report)
		case "diagnoses":
			err = s.array(func() error { return s.readDiagnosis(&d.report) })
		case "findings":
			checks, err = s.readFindings(&d.report)
		case "outcomes":
			err = s.array(func() error { return s.readOutcome(&d.report) })
		case "mount_health":
			err = s.readHealth(&d.report)
		case "evidence":
			err = s.readEvidence(&d.report)
		case "kind":
			d.kind, err = s.text(maxFact)
		case "items":
			d.isList = true
			err = s.array(func() error { return s.readItem(&d) })
		case "metadata", "status":
			err = s.readAPINode(key, &one)
		case "not_examined":
			err = s.array(func() error { return s.readMissing(&d) })
		default:
			err = s.skip()
		}
		return err
	})
	if err != nil {
		return d, err
	}
	if d.kind == "Node" && one.name != "" {
		d.nodes = append(d.nodes, one)
	}
	for i := range d.report.diagnoses { // of versions without identities
		if g := &d.report.diagnoses[i]; g.Check == "" && g.finding >= 0 && g.finding < len(checks) {
			g.Check = checks[g.finding]
		}
	}
	return d, d.understood()
}

func (s *scanner) readNode(d *digest) error {
	return s.object(func(key string) (err error) {
		switch key {
		case "name":
			d.name, err = s.text(maxName)
		case "kernel", "os", "arch":
			err = s.fact(d.facts, factNames[key])
		default:
			err = s.skip()
		}
		return err
	})
}

// readMissing reads a node that could not be examined.
func (s *scanner) readMissing(d *document) error {
	var m Missing
	err := s.object(func(key string) (err error) {
		switch key {
		case "node":
			m.Node, err = s.text(maxName)
		case "reason":
			m.Reason, err = s.text(maxReason)
		default:
			err = s.skip()
		}
		return err
	})
	if m.Node != "" && len(d.missing) < maxMissing {
		d.missing = append(d.missing, m)
	}
	return err
}

// factNames are what facts are called, by the fields of a report.
var factNames = map[string]string{"kernel": "kernel", "os": "OS image", "arch": "architecture"}

// fact keeps a text by a name.
func (s *scanner) fact(facts map[string]string, name string) error {
	value, err := s.text(maxFact)
	if value != "" && facts[name] == "" && len(facts) < maxFacts {
		facts[strings.Clone(name)] = value
	}
	return err
}

func (s *scanner) readDiagnosis(d *digest) error {
	if len(d.diagnoses) == maxDiagnoses {
		d.more++
		return s.skip()
	}
	g := diagnosis{finding: -1}
	err := s.object(func(key string) (err error) {
		switch key {
		case "severity":
			var word string
			word, err = s.text(16)
			g.severity = forensics.Severity(word)
		case "title":
			g.title, err = s.text(maxTitle)
		case "since":
			g.since, err = s.moment()
		case "root":
			err = s.readRoot(&g)
		case "identity":
			err = s.readIdentity(&g)
		case "pods":
			err = s.array(func() error { g.pods++; return s.skip() })
		case "remedies":
			err = s.array(func() error { return s.readRemedy(&g) })
		case "findings":
			err = s.array(func() error {
				n, err := s.number()
				if g.finding < 0 {
					g.finding = n
				}
				return err
			})
		default:
			err = s.skip()
		}
		return err
	})
	if err == nil && g.severity.Rank() > forensics.Info.Rank() {
		d.diagnoses = append(d.diagnoses, g)
	}
	return err
}

// readRoot reads the root cause of a report that has no identity for it: its id means something else on other nodes.
func (s *scanner) readRoot(g *diagnosis) error {
	return s.object(func(key string) (err error) {
		if key != "kind" || g.Kind != "" {
			return s.skip()
		}
		word, err := s.text(maxFact)
		g.Kind = forensics.Kind(word)
		return err
	})
}

// readRemedy keeps the first instruction that repairs the cause. Commands have names of their own on each node.
func (s *scanner) readRemedy(g *diagnosis) error {
	action, instruction := "", ""
	err := s.object(func(key string) (err error) {
		switch key {
		case "action":
			action, err = s.text(maxFact)
		case "instruction":
			instruction, err = s.text(maxTitle)
		default:
			err = s.skip()
		}
		return err
	})
	if action == "repair" && g.fix == "" && len(instruction) < maxTitle {
		g.fix = instruction
	}
	return err
}

func (s *scanner) readIdentity(g *diagnosis) error {
	return s.object(func(key string) (err error) {
		var word string
		switch key {
		case "check":
			g.Check, err = s.text(maxFact)
		case "trouble":
			g.Trouble, err = s.text(maxTitle)
		case "kind":
			word, err = s.text(maxFact)
			g.Kind = forensics.Kind(word)
		case "id":
			g.ID, err = s.text(maxTitle)
		case "name":
			g.Name, err = s.text(maxTitle)
		case "shared":
			g.Shared, err = s.bool()
		default:
			err = s.skip()
		}
		return err
	})
}

// readFindings counts the findings, and returns the ids of the first of them.
func (s *scanner) readFindings(d *digest) (checks []string, err error) {
	err = s.array(func() error {
		id, severity := "", ""
		err := s.object(func(key string) (err error) {
			switch key {
			case "id":
				id, err = s.text(maxFact)
			case "severity":
				severity, err = s.text(16)
			default:
				err = s.skip()
			}
			return err
		})
		if len(checks) < maxFindings {
			checks = append(checks, id)
		}
		if forensics.Severity(severity).Rank() > forensics.Info.Rank() {
			d.problems++
		}
		return err
	})
	return checks, err
}

func (s *scanner) readOutcome(d *digest) error {
	return s.object(func(key string) error {
		if key != "status" {
			return s.skip()
		}
		word, err := s.text(maxFact)
		switch forensics.OutcomeStatus(word) {
		case forensics.OutcomeClean, forensics.OutcomeFound:
			d.made++
		default:
			d.notMade++
		}
		return err
	})
}

func (s *scanner) readEvidence(d *digest) error {
	return s.object(func(key string) (err error) {
		switch key {
		case "collected":
			d.collected, err = s.moment()
		case "collector":
			err = s.object(func(key string) (err error) {
				switch key {
				case "interrupted":
					d.cut, err = s.text(maxReason)
				case "redaction_key":
					d.key, err = s.text(maxFact)
				default:
					err = s.skip()
				}
				return err
			})
		case "kubelet":
			err = s.object(func(key string) error {
				switch key {
				case "version":
					return s.fact(d.facts, "kubelet")
				case "node_name":
					d.alias, err = s.text(maxName)
					return err
				}
				return s.skip()
			})
		case "runtimes":
			err = s.array(func() error { return s.readRuntime(d) })
		case "containers":
			images := 0
			err = s.array(func() error { return s.readContainer(d, &images) })
		default:
			err = s.skip()
		}
		return err
	})
}

// readRuntime keeps the version of the first runtime that has one.
func (s *scanner) readRuntime(d *digest) error {
	name, version := "", ""
	err := s.object(func(key string) (err error) {
		switch key {
		case "name":
			name, err = s.text(maxFact)
		case "version":
			version, err = s.text(maxFact)
		default:
			err = s.skip()
		}
		return err
	})
	if name != "" && version != "" && d.facts["runtime"] == "" && len(d.facts) < maxFacts {
		d.facts["runtime"] = name + " " + version
	}
	return err
}

// readContainer keeps the version of a driver: the tag of the image that its container was created from.
func (s *scanner) readContainer(d *digest, images *int) error {
	return s.object(func(key string) error {
		if key != "image" {
			return s.skip()
		}
		image, err := s.text(maxFact)
		name, version := splitImage(image)
		if fact := "image " + name; version != "" && strings.Contains(name, "csi") && d.facts[fact] == "" && *images < maxImages {
			d.facts[fact] = version
			*images++
		}
		return err
	})
}

// splitImage splits "registry:5000/name:tag" or "name@sha256:…". An image of which nothing tells the version has none.
func splitImage(image string) (name, version string) {
	if name, digest, ok := strings.Cut(image, "@"); ok {
		name, _ = splitTag(name)
		return name, digest[:min(len(digest), len("sha256:")+12)]
	}
	return splitTag(image)
}

func splitTag(image string) (name, tag string) {
	if i := strings.LastIndexByte(image, ':'); i > strings.LastIndexByte(image, '/') {
		return image[:i], image[i+1:]
	}
	return image, ""
}

func (s *scanner) readHealth(d *digest) error {
	return s.array(func() error {
		return s.object(func(key string) error {
			if key != "status" {
				return s.skip()
			}
			status, err := s.text(maxFact)
			d.unanswered = d.unanswered || status == string(mounts.StatusUnanswered)
			return err
		})
	})
}
