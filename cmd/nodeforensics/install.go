package main

import (
	"encoding/json"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nodeforensics/nodeforensics/examples/kubernetes"
	"github.com/nodeforensics/nodeforensics/internal/pattern"
)

// What the manifests have where the flags put other values.
const (
	defaultImage = "localhost/nodeforensics:latest"
	defaultGroup = "nodeforensics"
)

func (a *app) installCommand() *cobra.Command {
	var image, group string
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Print Kubernetes manifests that place nodeforensics on each node",
		Long: `install prints the manifests of a DaemonSet. Its pods sleep, until you run
nodeforensics in one of them: kubectl exec works on a node whose kubelet hangs,
where new pods stay Pending. So install it before there is trouble.

The pods share the process table of the host. There, nodeforensics enters the
host and examines it as if it was started on the node. Each privilege is
explained in the manifests. Members of --group may run commands in these pods,
and are root on every node by that. Nothing else is started, and no request is
sent.`,
		Example: `  # Install it.
  nodeforensics install --image registry.example.com/nodeforensics:1.0 | kubectl apply -f -

  # Examine a node.
  POD=$(kubectl -n nodeforensics get pods -o name --field-selector spec.nodeName=node-1)
  kubectl -n nodeforensics exec $POD -- /nodeforensics -o html > report.html

  # Remove it.
  nodeforensics install | kubectl delete -f -`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if !imageName.MatchString(image) {
				return usagef("--image %q: want the name of an image", image)
			}
			if group == "" {
				return usagef("--group: want the name of a group")
			}
			a.out.printf("%s", strings.NewReplacer(quoted(defaultImage), quoted(image), quoted(defaultGroup), quoted(group)).Replace(kubernetes.Manifests))
			return nil
		},
	}
	cmd.Flags().StringVar(&image, "image", defaultImage, "`NAME` of the image; the default is for an archive that was imported on each node")
	cmd.Flags().StringVar(&group, "group", defaultGroup, "`GROUP` whose members may run commands in the pods")
	return cmd
}

// imageName is what can be the name of an image, with registry, tag and digest.
var imageName = pattern.New(`^[A-Za-z0-9][A-Za-z0-9._:/@-]*$`)

// quoted is a string of YAML, which JSON is as well.
func quoted(s string) string {
	text, _ := json.Marshal(s) // a string always can
	return string(text)
}
