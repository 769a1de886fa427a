package main

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
	"github.com/nodeforensics/nodeforensics/report"
)

// This file makes the large inputs of BenchmarkMemory.

// A dumpShape is a kind of goroutine dump.
type dumpShape struct {
	name   string
	write  func(w *bufio.Writer, size int64) error
	debug0 bool
}

func dumpShapes() []dumpShape {
	return []dumpShape{
		{name: "few", write: debug2(few)},
		{name: "many", write: debug2(many)},
		{name: "deep", write: debug2(deep)},
		{name: "different", write: debug2(different)},
		{name: "debug1-many", write: debug1(many)},
		{name: "debug1-different", write: debug1(different)},
		{name: "debug0-different", write: debug0, debug0: true},
	}
}

// stackOf is the stack of goroutine i: a function and a line for each frame, innermost first.
type stackOf func(i int) (state string, frames []int)

func few(i int) (string, []int) { return "select", []int{i % 3, 7, 8, 9} }

func many(i int) (string, []int) { return "chan receive", []int{i % 20_000, i % 20_000, 7, 8, 9, 10} }

func different(i int) (string, []int) { return "semacquire, 7 minutes", []int{i, i, i, 8, 9} }

func deep(i int) (string, []int) {
	frames := make([]int, 100)
	for j := range frames {
		frames[j] = i%5000 + j
	}
	return "IO wait", frames
}

const madeFunction = "k8s.io/kubernetes/pkg/kubelet/volumemanager/cache.(*actualStateOfWorld).method"

func debug2(stack stackOf) func(*bufio.Writer, int64) error {
	return func(w *bufio.Writer, size int64) error {
		written := 0
		for i := 1; int64(written) < size; i++ {
			state, frames := stack(i)
			n, _ := fmt.Fprintf(w, "goroutine %d [%s]:\n", i, state)
			written += n
			if i == 4711 {
				n, _ = fmt.Fprintf(w, "sync.(*Mutex).Lock(...)\n\t/usr/local/go/src/sync/mutex.go:46\n")
				written += n
			}
			for j, f := range frames {
				n, _ = fmt.Fprintf(w, "%s%d(0xc%07x%03x, {0x4a5b60, 0x%x})\n\t/workspace/src/k8s.io/kubernetes/pkg/kubelet/volumemanager/cache/actual_state_of_world.go:%d +0x1d4\n",
					madeFunction, f%2000, i, j, f, 1+f/2000)
				written += n
			}
			n, _ = fmt.Fprintf(w, "created by %s in goroutine 1\n\t/workspace/src/k8s.io/kubernetes/pkg/kubelet/kubelet.go:1500 +0x5f\n\n", madeFunction)
			written += n
		}
		return nil
	}
}

func debug1(stack stackOf) func(*bufio.Writer, int64) error {
	return func(w *bufio.Writer, size int64) error {
		written, _ := w.WriteString("goroutine profile: total 99999999\n")
		for i := 1; int64(written) < size; i++ {
			_, frames := stack(i)
			n, _ := fmt.Fprintf(w, "%d @", 1+i%7)
			written += n
			for range frames {
				_, _ = w.WriteString(" 0x46c165")
				written += 9
			}
			_, _ = w.WriteString("\n")
			for _, f := range frames {
				n, _ = fmt.Fprintf(w, "#\t0x46c165\t%s%d+0x10a\t/workspace/src/k8s.io/kubernetes/pkg/kubelet/volumemanager/cache/actual_state_of_world.go:%d\n",
					madeFunction, f%2000, 1+f/2000)
				written += n
			}
			_, _ = w.WriteString("\n")
			written += 2
		}
		return nil
	}
}

// debug0 writes a profile in which each sample is a stack of its own, as the runtime would: gzip'd protobuf. It is made
// of many messages, which is the same as one.
func debug0(w *bufio.Writer, size int64) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return err
	}
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "goroutine", Unit: "count"}}, Period: 1}
	for i := range 2000 {
		f := &profile.Function{ID: uint64(i + 1), Name: fmt.Sprintf("%s%d", madeFunction, i), Filename: "/src/actual_state_of_world.go"}
		l := &profile.Location{ID: uint64(i + 1), Line: []profile.Line{{Function: f, Line: int64(i)}}}
		p.Function, p.Location = append(p.Function, f), append(p.Location, l)
	}
	var b bytes.Buffer
	if err := p.WriteUncompressed(&b); err != nil {
		return err
	}
	_, _ = z.Write(b.Bytes())
	sample := []byte{0x12, 0, 0x0a, 0} // Profile.sample, of Sample.location_id and value
	for i, written := 0, int64(b.Len()); written < size; i++ {
		ids := make([]byte, 0, 32)
		for j := range 9 {
			n := 1 + (i>>(j%3)*7+j*j+i%13)%2000
			if n < 128 {
				ids = append(ids, byte(n))
			} else {
				ids = append(ids, byte(n)|0x80, byte(n>>7))
			}
		}
		sample[1], sample[3] = byte(2+len(ids)+3), byte(len(ids))
		_, _ = z.Write(sample)
		_, _ = z.Write(ids)
		_, _ = z.Write([]byte{0x12, 1, 3})
		written += int64(len(sample) + len(ids) + 3)
	}
	return z.Close()
}

// manyDumps are small dumps of one process, all different.
func manyDumps(w *bufio.Writer, size int64) error {
	for i, written := 0, 0; int64(written) < size; i++ {
		n, _ := fmt.Fprintf(w, "goroutine %d [running]:\nmain.writeDump%d(0x%x)\n\t/src/main.go:12 +0x1d\n\ngoroutine 1 [select]:\nmain.main%d(0x%x)\n\t/src/main.go:14 +0x1d\n\n", i+2, i, i, i, i)
		written += n
	}
	return nil
}

const madePod = `{"metadata":{"name":"web-%[1]d","namespace":"shop","uid":"%08[1]x-6ffa-4d31-9a2b-7e13c40f1f7e","creationTimestamp":"2026-11-20T10:00:00Z","labels":{"app":"web","pod-template-hash":"%08[1]x"},"annotations":{"kubernetes.io/config.source":"api"},"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web-%[1]d","uid":"1b5d2a54-6ffa-4d31-9a2b-7e13c40f1f7e","controller":true}]},"spec":{"nodeName":"node-7","volumes":[{"name":"data","persistentVolumeClaim":{"claimName":"data-%[1]d"}}],"containers":[{"name":"web","image":"registry.example/web:%[1]d","imagePullPolicy":"Always","env":[{"name":"A","value":"%[2]s"}]}],"tolerations":[{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}]},"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True","lastTransitionTime":"2026-11-20T10:00:00Z"}],"containerStatuses":[{"name":"web","state":{"running":{"startedAt":"2026-11-20T10:00:00Z"}}}]}}`

func pods(w *bufio.Writer, size int64, start, before, pad string) error {
	written, _ := w.WriteString(start)
	for i := 0; int64(written) < size; i++ {
		if i > 0 {
			_, _ = w.WriteString(",\n")
		}
		_, _ = w.WriteString(before)
		n, _ := fmt.Fprintf(w, strings.TrimPrefix(madePod, before[:min(len(before), 1)]), i, pad)
		written += n + len(before) + 2
	}
	_, _ = w.WriteString("]}\n")
	return nil
}

// listedPods is what a kubelet says of its pods.
func listedPods(w *bufio.Writer, size int64) error {
	return pods(w, size, `{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[`, "", "x")
}

// kubectlPods is what kubectl prints of the pods of a large cluster, 7 KB each.
func kubectlPods(w *bufio.Writer, size int64) error {
	pad := string(bytes.Repeat([]byte("managed fields and such "), 250))
	return pods(w, size, `{"apiVersion":"v1","items":[`, `{"apiVersion":"v1","kind":"Pod",`, pad)
}

func kubeletLog(w *bufio.Writer, size int64) error {
	for i, written := 0, 0; int64(written) < size; i++ {
		n, _ := fmt.Fprintf(w, "I1120 %02d:%02d:%02d.%06d    4711 kubelet.go:2400] \"SyncLoop UPDATE\" source=\"api\" pods=[\"shop/web-%d\"]\n", i/3600_000%24, i/60_000%60, i/1000%60, i%1000*1000, i%100)
		written += n
		if i%50 == 0 {
			n, _ = fmt.Fprintf(w, "E1120 %02d:%02d:%02d.%06d    4711 kubelet_volumes.go:245] \"There were many similar errors. Turn up verbosity to see them.\" err=\"orphaned pod \\\"%08x-6ffa-4d31-9a2b-7e13c40f1f7e\\\" found, but volume paths are still present on disk\" numErrs=%d\n",
				i/3600_000%24, i/60_000%60, i/1000%60, i%1000*1000, i, i%9)
			written += n
		}
	}
	return nil
}

// shuffledLogs is an archive of the logs of many days, one file a day, in any order.
func shuffledLogs(w *bufio.Writer, size int64) error {
	const each = 2 * mb
	z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return err
	}
	out := tar.NewWriter(z)
	var day bytes.Buffer
	text := bufio.NewWriter(&day)
	if err := errors.Join(kubeletLog(text, each), text.Flush()); err != nil {
		return err
	}
	last := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for _, i := range rand.New(rand.NewPCG(1, 2)).Perm(int(size / each)) {
		at := last.AddDate(0, 0, -i)
		log := bytes.ReplaceAll(day.Bytes(), []byte("1120 "), []byte(at.Format("0102 ")))
		h := &tar.Header{Name: fmt.Sprintf("logs/kubelet-%03d.log", i), Mode: 0o644, Size: int64(len(log)), ModTime: at, Typeflag: tar.TypeReg}
		if err := out.WriteHeader(h); err != nil {
			return err
		}
		if _, err := out.Write(log); err != nil {
			return err
		}
	}
	return errors.Join(out.Close(), z.Close())
}

func mountTable(w *bufio.Writer, size int64) error {
	for i, written := 0, 0; int64(written) < size; i++ {
		n, _ := fmt.Fprintf(w, "%d 22 0:%d / /var/lib/kubelet/pods/%08x-6ffa-4d31-9a2b-7e13c40f1f7e/volumes/kubernetes.io~csi/pvc-%d/mount rw,relatime shared:%d - nfs4 10.0.0.9:/export/%d rw,vers=4.1,addr=10.0.0.9\n",
			i+30, i%4000+50, i, i, i, i)
		written += n
	}
	return nil
}

// savedReport is a report with goroutines, as versions wrote them that kept every one, in the proportions of a node.
func savedReport(w *bufio.Writer, size int64) error {
	e := forensics.NewEvidence()
	var text bytes.Buffer
	bw := bufio.NewWriter(&text)
	if err := debug2(many)(bw, 2*mb); err != nil {
		return err
	}
	_ = bw.Flush()
	dumps, _, err := goroutines.Parse(&text)
	if err != nil {
		return err
	}
	goroutine, err := json.MarshalIndent(dumps[0].Goroutines, "", " ")
	if err != nil {
		return err
	}
	goroutine = bytes.Trim(goroutine, "[]\n")
	e.Dumps = []forensics.Dump{{Source: "made", Dump: goroutines.Dump{Form: goroutines.FormDebug2, Goroutines: []goroutines.Goroutine{}}, Problems: []goroutines.Problem{}}}
	return aroundList(w, e, `"goroutines": [`, goroutine, size)
}

// hollowReport is a report whose pods say nothing: three bytes become a large struct.
func hollowReport(w *bufio.Writer, size int64) error {
	return aroundList(w, forensics.NewEvidence(), `"pods": [`, bytes.Repeat([]byte("{},"), 9999)[:3*9999-1], size)
}

// aroundList writes a report in which a list holds text again and again.
func aroundList(w *bufio.Writer, e forensics.Evidence, list string, text []byte, size int64) error {
	var b bytes.Buffer
	if err := report.JSON(&b, report.New(report.Tool{Name: "made"}, e, forensics.Analysis{})); err != nil {
		return err
	}
	before, after, ok := bytes.Cut(b.Bytes(), []byte(list))
	if !ok {
		return fmt.Errorf("no %s in a report", list)
	}
	_, _ = w.Write(before)
	_, _ = w.WriteString(list)
	for n := int64(0); n < size; n += int64(len(text)) {
		if n > 0 {
			_, _ = w.WriteString(",")
		}
		_, _ = w.Write(text)
	}
	_, _ = w.Write(after)
	return nil
}
