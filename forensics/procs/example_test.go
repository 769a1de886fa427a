package procs_test

import (
	"fmt"

	"github.com/nodeforensics/nodeforensics/forensics/procs"
)

func ExampleClassifyWait() {
	wait := procs.ClassifyWait("request_wait_answer", []string{
		"[<0>] request_wait_answer+0x112/0x210", "[<0>] __fuse_simple_request+0x120/0x330", "[<0>] fuse_do_getattr+0xef/0x200",
	})
	fmt.Println(wait.Kind, wait.FS, wait.Function)
	// Output: fuse fuse request_wait_answer
}

func ExamplePodFromCgroup() {
	pod, container := procs.PodFromCgroup("/kubepods.slice/kubepods-pod5c948341_1b2c_4d3e_8f90_a1b2c3d4e5f6.slice/" +
		"crio-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.scope")
	fmt.Println(pod)
	fmt.Println(container[:12])
	// Output:
	// 5c948341-1b2c-4d3e-8f90-a1b2c3d4e5f6
	// 0123456789ab
}
