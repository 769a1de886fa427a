package yamlstream

import (
	"io"
	"strings"
	"testing"
)

func BenchmarkConvert(b *testing.B) {
	const frame = `{"function": "k8s.io/kubernetes/pkg/kubelet.(*Kubelet).syncLoop", "file": "/go/src/k8s.io/kubelet.go", "line": 2379, "args": ["0xc000a1b2c3", "0x1"]},`
	text := "[" + strings.Repeat(frame, 20_000) + "{}]"
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if err := convert(io.Discard, strings.NewReader(text)); err != nil {
			b.Fatal(err)
		}
	}
}
