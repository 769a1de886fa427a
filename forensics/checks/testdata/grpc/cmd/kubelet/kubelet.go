// Command kubelet asks a container runtime and a CSI driver by gRPC over a unix socket and gets no answer.
//
//	kubelet serve SOCKET       is that runtime and driver: it takes questions and answers none
//	kubelet ask SOCKET DIR     asks; see ../../../programs for what it prints and does
package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"k8s.io/kubernetes/pkg/kubelet/pleg"
	"k8s.io/kubernetes/pkg/volume/csi"
)

func main() {
	var err error
	switch os.Args[1] {
	case "serve":
		err = serve(os.Args[2])
	case "ask":
		err = ask(os.Args[2], os.Args[3])
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func serve(socket string) error {
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	never := func(any, grpc.ServerStream) error { select {} }
	fmt.Println("serves")
	return grpc.NewServer(grpc.UnknownServiceHandler(never)).Serve(listener)
}

func ask(socket, dir string) error {
	conn, err := grpc.Dial("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	pleg.New(conn).Start()
	go func() { _ = csi.New(conn).NodePublishVolume(context.Background()) }()
	wanted := make(chan os.Signal, 1)
	signal.Notify(wanted, syscall.SIGUSR1)
	for !stands() {
		time.Sleep(10 * time.Millisecond)
	}
	fmt.Println("ready 0")
	for range wanted {
		for debug := 0; debug <= 2; debug++ {
			f, err := os.Create(filepath.Join(dir, fmt.Sprintf("debug%d", debug)))
			if err != nil {
				return err
			}
			if err := pprof.Lookup("goroutine").WriteTo(f, debug); err != nil {
				return err
			}
			if err := f.Close(); err != nil {
				return err
			}
		}
		fmt.Println("dumped")
	}
	return nil
}

// stands says whether both questions have come to where their answers are waited for.
func stands() bool {
	stacks := make([]byte, 1<<20)
	text := string(stacks[:runtime.Stack(stacks, true)])
	waiting := 0
	for _, g := range strings.Split(text, "\n\n") {
		if strings.Contains(g, "RecvMsg") && strings.Contains(g, "[select") {
			waiting++
		}
	}
	return waiting == 2
}
