package main

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// The logs of BenchmarkArchives: 1 GB.
const archivedLogs, archivedLogSize = 500, 2 * mb

// BenchmarkArchives runs analyze over the same logs as a directory, a tar and a compressed tar, and beside that the decompressor alone. It
// prints the time of each, and the largest resident set of the program. It wants 2.2 GB of disk.
//
//	go test ./cmd/nodeforensics -run '^$' -bench Archives -benchtime 1x
func BenchmarkArchives(b *testing.B) {
	dir := b.TempDir()
	logs, plain, packed := filepath.Join(dir, "logs"), filepath.Join(dir, "logs.tar"), filepath.Join(dir, "logs.tar.gz")
	if err := writeLogs(logs); err != nil {
		b.Fatal(err)
	}
	if err := packLogs(logs, plain, packed); err != nil {
		b.Fatal(err)
	}
	for _, name := range []string{logs, plain, packed} {
		b.Run(filepath.Base(name), func(b *testing.B) {
			for b.Loop() {
				cmd := exec.Command(program(b, programName), "analyze", "--timeout", "10m", "-q", "--output-dir", b.TempDir(), name)
				peak := measured(b, cmd)
				began := time.Now()
				if out, err := cmd.CombinedOutput(); err != nil {
					b.Fatalf("%v\n%s", err, out)
				}
				b.ReportMetric(time.Since(began).Seconds(), "s")
				b.ReportMetric(float64(peak())/(1<<20), "MiB")
				b.ReportMetric(0, "ns/op")
			}
		})
	}
	b.Run("gzip-dc", func(b *testing.B) {
		for b.Loop() {
			began := time.Now()
			if out, err := exec.Command("sh", "-c", `gzip -dc "$0" >/dev/null`, packed).CombinedOutput(); err != nil {
				b.Fatalf("%v\n%s", err, out)
			}
			b.ReportMetric(time.Since(began).Seconds(), "s")
			b.ReportMetric(0, "ns/op")
		}
	})
}

// writeLogs writes logs of one kubelet, each the continuation of the one before. Their lines are those of kubelets in trouble, with times
// that go on.
func writeLogs(dir string) error {
	lines, err := capturedLines()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	at, next := time.Now().AddDate(0, -2, 0).UTC(), 0
	for i := range archivedLogs {
		var log strings.Builder
		for log.Len() < archivedLogSize {
			at = at.Add(300 * time.Millisecond)
			line := lines[next%len(lines)]
			fmt.Fprintf(&log, "%c%s%s\n", line[0], at.Format("0102 15:04:05.000000"), line[1:])
			next++
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("kubelet-%03d.log", i)), []byte(log.String()), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// capturedLines are those of klog in the captured logs, without their times.
func capturedLines() ([]string, error) {
	names, err := filepath.Glob("../../testdata/captures/*/kubelet.log.gz")
	if err != nil || len(names) == 0 {
		return nil, fmt.Errorf("no captured logs: %w", err)
	}
	head := regexp.MustCompile(`^([IWEF])\d{4} \d\d:\d\d:\d\d\.\d{6}(.*)$`)
	var lines []string
	for _, name := range names {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		text, err := gzip.NewReader(file)
		if err != nil {
			return nil, err
		}
		for s := bufio.NewScanner(text); s.Scan(); {
			if m := head.FindStringSubmatch(s.Text()); m != nil {
				lines = append(lines, m[1]+m[2])
			}
		}
		if err := file.Close(); err != nil {
			return nil, err
		}
	}
	return lines, nil
}

// packLogs puts a directory into a tar, and into a compressed one.
func packLogs(dir, plain, packed string) error {
	a, err := os.Create(plain)
	if err != nil {
		return err
	}
	b, err := os.Create(packed)
	if err != nil {
		return err
	}
	z, err := gzip.NewWriterLevel(b, gzip.BestSpeed)
	if err != nil {
		return err
	}
	t := tar.NewWriter(io.MultiWriter(a, z))
	if err := t.AddFS(os.DirFS(dir)); err != nil {
		return err
	}
	for _, c := range []io.Closer{t, z, a, b} {
		if err := c.Close(); err != nil {
			return err
		}
	}
	return nil
}
