// Package kubernetes has the manifests that "nodeforensics install" prints. They are also a base for kustomize.
package kubernetes

import _ "embed"

// Manifests is the YAML of all objects. Values in double quotes are those that the flags of the command change.
//
//go:embed nodeforensics.yaml
var Manifests string
