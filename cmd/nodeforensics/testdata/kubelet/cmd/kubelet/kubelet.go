// Command kubelet does a kubelet's housekeeping over a directory and serves its HTTP endpoints. See the README.
package main

import (
	"fmt"
	"os"

	"k8s.io/kubernetes/cmd/kubelet/app"
)

func main() {
	if err := app.Run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "kubelet:", err)
		os.Exit(1)
	}
}
