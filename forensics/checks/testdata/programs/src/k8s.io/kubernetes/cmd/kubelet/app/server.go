// Package app starts a kubelet, and stands still in that.
package app

import (
	"k8s.io/kubernetes/pkg/kubelet"
	"k8s.io/kubernetes/pkg/kubelet/cadvisor"
	"k8s.io/kubernetes/pkg/kubelet/server/stats"
	"k8s.io/kubernetes/pkg/kubelet/status"
	"k8s.io/kubernetes/pkg/volume/util/nestedpendingoperations"
	"k8s.io/kubernetes/pkg/volume/util/operationexecutor"
)

var operations = operationexecutor.New()

// Child is the pid of the child that an operation waits for.
func Child() int { return operations.Child() }

// Run never returns.
func Run(path string) {
	k := kubelet.New(path)
	go k.Run()
	status.New(k).Start()
	k.Workers().Start(path)
	stats.New(path).StartOnce()
	nestedpendingoperations.New().Run(operations.GenerateUnmountVolumeFunc(path))
	run(path)
}

func run(path string) {
	c := cadvisor.New(path)
	println(c)
}
