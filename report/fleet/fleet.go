// Package fleet reads the reports of many nodes and says what they say together: the causes with the nodes that have them, what sick nodes
// have in common, and which nodes were not examined.
//
// Causes are joined by their [forensics.Identity], which is made of fields of the evidence, never by sentences. Of each report only a small
// part is kept, so that ten thousand fit into memory. Reports are not trusted: one that is broken, of another schema or too large costs only
// itself.
package fleet

import (
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
)

// schema names the layout of [Summary] as JSON. Fields are added within v1; a change of meaning makes v2.
const schema = "nodeforensics.fleet/v1"

// Summary is what many reports say together.
type Summary struct {
	Schema string `json:"schema"`
	// From and To are when the first and the last report were collected, by the clocks of the nodes; absent without a report.
	From *time.Time `json:"from,omitempty"`
	To   *time.Time `json:"to,omitempty"`
	// NodesKnown counts the nodes with a report and those of which it is known that there is none.
	NodesKnown int `json:"nodes_known"`
	// Sick, Well and Unclear count Nodes by their state.
	Sick    int `json:"sick"`
	Well    int `json:"well"`
	Unclear int `json:"unclear"`
	// Causes are worst first; of equal severity, those of most nodes.
	Causes []Cause `json:"causes"`
	// Common is what the sick nodes have in common and the well ones have not, all causes together.
	Common []Trait `json:"common"`
	// Nodes are the nodes with a report, by name.
	Nodes []Node `json:"nodes"`
	// NotExamined are nodes and files of which there is no report, or only a part.
	NotExamined []Missing `json:"not_examined"`
	// Notes say what to know about the inputs.
	Notes []string `json:"notes"`
}

// A Cause is one root cause with all nodes that have it.
type Cause struct {
	// Title names it without what differs between nodes: "NFS 10.0.0.5:/export has not responded".
	Title    string             `json:"title"`
	Severity forensics.Severity `json:"severity"`
	// Identity is what the nodes' root causes have in common. Name is that of the first node, if there are several.
	Identity forensics.Identity `json:"identity"`
	// Checks are the checks that found it, that of most nodes first.
	Checks []string `json:"checks"`
	// Names are what it is called in full, if there are several: the exports of one server.
	Names []string `json:"names"`
	// Since is when it began on the first node, FirstNode; absent if no report tells.
	Since     *time.Time `json:"since,omitempty"`
	FirstNode string     `json:"first_node,omitempty"`
	// Doubt says why each node may have a cause of its own, of the same kind; absent if a field says that it is one.
	Doubt string `json:"doubt,omitempty"`
	// Fix is what repairs it, if the reports of all its nodes say the same, without commands of their own; absent with Doubt.
	Fix string `json:"fix,omitempty"`
	// Pods counts the affected pods of all nodes.
	Pods int `json:"pods"`
	// Nodes are those that have it, in the order of Since.
	Nodes []Sighting `json:"nodes"`
	// Common is what its nodes have in common and the well ones have not.
	Common []Trait `json:"common"`
}

// A Sighting is a cause on one node.
type Sighting struct {
	Node     string             `json:"node"`
	Check    string             `json:"check"`
	Severity forensics.Severity `json:"severity"`
	// Title is the headline of the node's own report.
	Title string     `json:"title"`
	Since *time.Time `json:"since,omitempty"`
	Pods  int        `json:"pods"`

	trouble string // what the check calls it
	fix     string
	node    int // in Summary.Nodes
}

// Node is a node with a report.
type Node struct {
	Name string `json:"name"`
	// File is the input that its report was read from. Page is the path of the same report as HTML; absent if there is none beside it.
	File      string     `json:"file"`
	Page      string     `json:"page,omitempty"`
	Collected *time.Time `json:"collected,omitempty"`
	// State is "sick" with a root cause, "well" if most checks were made and found no problem, else "unclear".
	State string `json:"state"`
	// Made counts the checks that were made, and NotMade those that were not.
	Made    int `json:"checks_made"`
	NotMade int `json:"checks_not_made"`
	// Cut says why collecting ended early; absent if it did not.
	Cut string `json:"cut,omitempty"`
	// Causes are indexes in Summary.Causes.
	Causes []int `json:"causes"`
	// Facts are what may be common to sick nodes, by name: "kernel", "kubelet", "zone".
	Facts map[string]string `json:"facts"`
}

// The states of a node.
const (
	sick    = "sick"
	well    = "well"
	unclear = "unclear"
)

// Missing is a node that was not examined, or a file that is no report.
type Missing struct {
	Node   string `json:"node,omitempty"`
	File   string `json:"file,omitempty"`
	Reason string `json:"reason"`
	// Part says that there is a report of the node, of an examination that ended early.
	Part bool `json:"part,omitempty"`
}

// A Trait is a fact of sick nodes, with how many nodes of either side have it. Nodes of which the fact is not known are not counted.
type Trait struct {
	// Name is what it is: "kernel", "kubelet", "runtime", "OS image", "architecture", "zone", "region", "instance type", "node pool", a
	// label with the version of a driver, or "image " and the name of an image of a CSI driver, whose Value is its tag.
	Name  string `json:"name"`
	Value string `json:"value"`
	// Sick of SickAll nodes have it, and Well of WellAll.
	Sick    int `json:"sick"`
	SickAll int `json:"sick_known"`
	Well    int `json:"well"`
	WellAll int `json:"well_known"`
}
