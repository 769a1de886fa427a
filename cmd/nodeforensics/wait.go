package main

import "github.com/spf13/cobra"

// waitName is the command of the image.
const waitName = "wait"

func (a *app) waitCommand() *cobra.Command {
	return &cobra.Command{
		Use: waitName, Short: "Do nothing until SIGTERM: the main process of a container", Args: cobra.NoArgs,
		Long: `wait is the main process of a container that others run nodeforensics in, by
kubectl exec. It sleeps, reaps processes that were left to it, and ends at once
on SIGTERM and SIGINT. It opens no file and listens nowhere.

The image of nodeforensics has no shell and no sleep.`,
		Example: `  nodeforensics wait`,
		Run:     func(*cobra.Command, []string) { a.status.Store(int32(waitMain())) },
	}
}
