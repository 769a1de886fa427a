package fleet

import (
	"time"

	"github.com/nodeforensics/nodeforensics/internal/nodelabel"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// apiNode is what is wanted of a Node of the API server (kubectl get nodes -o json).
type apiNode struct {
	name  string
	facts map[string]string
	// notReady is what its condition Ready says where that is not True; empty: it is Ready, or nothing says so.
	notReady string
}

// maxAPINodes is how many nodes of lists are kept: more than a cluster can have.
const maxAPINodes = 100_000

// readItem reads an element of a list.
func (s *scanner) readItem(d *document) error {
	var n apiNode
	kind := "Node" // a NodeList does not repeat it
	err := s.object(func(key string) (err error) {
		switch key {
		case "kind":
			kind, err = s.text(maxFact)
		case "metadata", "status":
			err = s.readAPINode(key, &n)
		default:
			err = s.skip()
		}
		return err
	})
	if kind == "Node" && n.name != "" && len(d.nodes) < maxAPINodes {
		d.nodes = append(d.nodes, n)
	}
	return err
}

// readAPINode reads a part of a Node.
func (s *scanner) readAPINode(part string, n *apiNode) error {
	if n.facts == nil {
		n.facts = map[string]string{}
	}
	c, err := s.peek()
	if err != nil || c != '{' { // of another document
		return s.skip()
	}
	return s.object(func(key string) (err error) {
		switch {
		case part == "metadata" && key == "name":
			n.name, err = s.text(maxName)
		case part == "metadata" && key == "labels":
			err = s.object(func(label string) error { return s.readLabel(n.facts, label) })
		case part == "status" && key == "nodeInfo":
			err = s.object(func(key string) error {
				if name := infoFacts[key]; name != "" {
					return s.fact(n.facts, name)
				}
				return s.skip()
			})
		case part == "status" && key == "conditions":
			err = s.array(func() error { return s.readCondition(n) })
		default:
			err = s.skip()
		}
		return err
	})
}

// readCondition reads a condition of a Node. Only Ready is wanted.
func (s *scanner) readCondition(n *apiNode) error {
	var kind, status, reason string
	var since *time.Time
	err := s.object(func(key string) (err error) {
		switch key {
		case "type":
			kind, err = s.text(maxFact)
		case "status":
			status, err = s.text(maxFact)
		case "reason":
			reason, err = s.text(maxFact)
		case "lastTransitionTime":
			since, err = s.moment()
		default:
			err = s.skip()
		}
		return err
	})
	if kind != "Ready" || status == "True" || status == "" {
		return err
	}
	n.notReady = "not Ready"
	if since != nil {
		n.notReady += " since " + text.Moment(*since)
	}
	if reason != "" {
		n.notReady += " (" + reason + ")"
	}
	return err
}

// infoFacts are what facts are called, by the fields of status.nodeInfo. They replace those of reports, so that all nodes have the same form.
var infoFacts = map[string]string{
	"kernelVersion": "kernel", "osImage": "OS image", "architecture": "architecture", "kubeletVersion": "kubelet", "containerRuntimeVersion": "runtime",
}

// readLabel keeps a label that may be common to sick nodes.
func (s *scanner) readLabel(facts map[string]string, label string) error {
	name := nodelabel.Fact(label)
	if name == "" {
		return s.skip()
	}
	return s.fact(facts, name)
}
