// Package nodelabel knows the labels of nodes that say what nodes may have in common.
package nodelabel

import "strings"

// facts are labels that say where a node is and what it is made of.
var facts = map[string]string{
	"topology.kubernetes.io/zone":              "zone",
	"failure-domain.beta.kubernetes.io/zone":   "zone",
	"topology.kubernetes.io/region":            "region",
	"failure-domain.beta.kubernetes.io/region": "region",
	"node.kubernetes.io/instance-type":         "instance type",
	"beta.kubernetes.io/instance-type":         "instance type",
	"cloud.google.com/gke-nodepool":            "node pool",
	"eks.amazonaws.com/nodegroup":              "node pool",
	"kubernetes.azure.com/agentpool":           "node pool",
	"karpenter.sh/nodepool":                    "node pool",
}

// Fact is what a label says of a node: "zone", or the label itself where it has the version of a driver; "" for other labels.
func Fact(label string) string {
	if facts[label] == "" && strings.Contains(label, "driver") && strings.Contains(label, "version") {
		return label
	}
	return facts[label]
}
