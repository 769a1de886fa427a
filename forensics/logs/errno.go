package logs

import (
	"strings"

	"github.com/nodeforensics/nodeforensics/internal/errno"
)

// grpcCode is the X of "rpc error: code = X desc = …"; "" if there is none.
func grpcCode(text string) string {
	c := word(text, "code = ", " ,:\"\n")
	if len(c) > 20 {
		return ""
	}
	if name, ok := grpcNames[c]; ok {
		return name
	}
	return c
}

// grpcNames are what gRPC calls the codes that programs wrote as numbers until 2017 (google.golang.org/grpc/codes).
var grpcNames = map[string]string{"1": "Canceled", "2": "Unknown", "4": "DeadlineExceeded", "5": "NotFound", "6": "AlreadyExists", "8": "ResourceExhausted", "10": "Aborted", "13": "Internal", "14": "Unavailable"}

// exitStatus is "exit status N" where a child's is told; "" if none.
func exitStatus(text string) string {
	n := word(text, "exit status ", "\n :;,)\"\\")
	if n == "" || len(n) > 3 {
		return ""
	}
	return "exit status " + n
}

// code is the best name of an error: the gRPC code, else the errno, else a child's exit status.
func code(text string) string {
	if c := grpcCode(text); c != "" {
		return c
	}
	if strings.Contains(text, "operation timeout: context deadline exceeded") { // the kubelet's own client of docker, to 1.5
		return "DeadlineExceeded"
	}
	return osCode(text)
}

// osCode is the errno, else a child's exit status.
func osCode(text string) string {
	if c := errno.Of(text); c != "" {
		return c
	}
	return exitStatus(text)
}
