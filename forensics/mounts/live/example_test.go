package live_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	mountslive "github.com/nodeforensics/nodeforensics/forensics/mounts/live"
	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/probe"
)

// Which mount namespaces still have a file system that is gone here?
func ExampleNamespaces() {
	fsys, err := hostfs.Open("/")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = fsys.Close() }()
	tables, errs := mountslive.Namespaces(context.Background(), fsys, nil)
	for _, table := range tables {
		for _, m := range table.Mounts {
			if m.Source == "10.0.0.5:6789:/k8s" {
				fmt.Printf("mount %d in namespace %d of process %d\n", m.ID, table.Namespace, table.PID)
			}
		}
	}
	for _, err := range errs {
		log.Print(err)
	}
}

// What is mounted in namespaces that no process is in?
func ExampleUninhabited() {
	fsys, err := hostfs.Open("/")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = fsys.Close() }()
	err = mountslive.Uninhabited(context.Background(), fsys, &probe.Group{}, nil, func(table mounts.Table) {
		for _, m := range table.Mounts {
			fmt.Printf("%s at %s in namespace %d\n", m.Source, m.MountPoint, table.Namespace)
		}
	})
	if err != nil {
		log.Print(err)
	}
}

// Do the network mounts of this machine answer?
func ExampleCheck() {
	fsys, err := hostfs.Open("/")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = fsys.Close() }()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	table, err := mountslive.Read(ctx, fsys, 0)
	if err != nil {
		log.Print(err)
	}
	var list []mounts.Mount
	for _, m := range table.Mounts {
		if m.Class == mounts.ClassNetwork || m.Class == mounts.ClassFUSE {
			list = append(list, m)
		}
	}
	var group probe.Group
	for i, p := range mountslive.Check(ctx, table.Index(), list, mountslive.CheckOptions{Group: &group}) {
		h := p.Judge(list[i], 15*time.Second, time.Second)
		fmt.Printf("%s: %s after %.1f s %s\n", h.MountPoint, h.Status, h.Seconds, h.Reason)
	}
	for _, call := range group.Outstanding() {
		fmt.Printf("thread %d was left behind on %s\n", call.TID, call.Key)
	}
}
