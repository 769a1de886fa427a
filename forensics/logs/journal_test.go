package logs

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// A journal tells the same in each of its formats.
func TestJournalFormats(t *testing.T) {
	const message = `E1121 10:00:02.000301    2588 kubelet.go:2347] "Skipping pod synchronization" err="PLEG is not healthy: pleg was last seen active 5m41.2s ago; threshold is 3m0s"`
	const oom = "nfs: server 192.0.2.4 not responding, still trying"
	sized := func(text string) string {
		return string(binary.LittleEndian.AppendUint64(nil, uint64(len(text)))) + text
	}
	record := func(format, message, more string, binary bool) string {
		fields := "__CURSOR=s=1;i=2\n__REALTIME_TIMESTAMP=1795251602000301\n__MONOTONIC_TIMESTAMP=77\n_BOOT_ID=3f2a\n_HOSTNAME=node-a\nPRIORITY=3\n" + more
		if format == "export" {
			if binary {
				return fields + "MESSAGE\n" + sized(message+"\n\x01=") + "\n_X\n" + sized("\n\n") + "\n\n"
			}
			return fields + "MESSAGE=" + message + "\n\n"
		}
		var lines []string
		for line := range strings.Lines(fields) {
			key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
			lines = append(lines, fmt.Sprintf("\t%q : %q", key, value))
		}
		if binary {
			numbers := fmt.Sprintf("%d", []byte(message))
			lines = append(lines, "\t\"MESSAGE\" : "+strings.ReplaceAll(numbers, " ", ", "))
		} else {
			lines = append(lines, fmt.Sprintf("\t\"MESSAGE\" : %q", message))
		}
		pretty := "{\n" + strings.Join(lines, ",\n") + "\n}\n"
		switch format {
		case "json":
			return strings.NewReplacer("\n", "", "\t", "", " : ", ":").Replace(pretty) + "\n"
		case "json-seq":
			return "\x1e" + strings.NewReplacer("\n", "", "\t", "", " : ", ":").Replace(pretty) + "\n"
		}
		return pretty
	}
	for _, format := range []string{"export", "json", "json-pretty", "json-seq"} {
		for _, binary := range []bool{false, true} {
			text := record(format, message, "_TRANSPORT=stdout\n_PID=2588\nSYSLOG_IDENTIFIER=kubelet\n_SYSTEMD_UNIT=kubelet.service\n", binary) +
				record(format, oom, "_TRANSPORT=kernel\nSYSLOG_IDENTIFIER=kernel\n", binary)
			if !Recognise([]byte(text)) {
				t.Errorf("%s: not recognised", format)
			}
			source := Source{Path: "j", Open: func(context.Context) (io.ReadCloser, error) {
				return io.NopCloser(iotest.HalfReader(strings.NewReader(text))), nil
			}}
			s := Read(t.Context(), []Source{source}, Options{Now: collected})
			if len(s.Events) != 2 || s.Events[0].Kind != KindPLEGUnhealthy || s.Events[1].Kind != KindKernelNFSDown || s.Events[1].Origin != "kernel" {
				t.Errorf("%s, binary %v: %+v", format, binary, s.Events)
				continue
			}
			if at := s.Events[0].First; at == nil || at.UnixMicro() != 1795251602000301 {
				t.Errorf("%s: %v", format, at)
			}
			r := Reader{Options: Options{Now: collected}}
			r.Add(t.Context(), source)
			if stories := r.Stories(t.Context()); len(stories) != 1 || stories[0].Node != "node-a" || len(stories[0].Lives) != 1 || stories[0].Lives[0].PID != 2588 {
				t.Errorf("%s: node %q, %+v", format, stories[0].Node, stories[0].Lives)
			}
		}
	}
}

// What is cut, or lies about its size, ends.
func TestJournalExportThatIsCut(t *testing.T) {
	for _, text := range []string{
		"__CURSOR=1\nMESSAGE", "__CURSOR=1\nMESSAGE\n\x05", "__CURSOR=1\nMESSAGE\n\xff\xff\xff\xff\xff\xff\xff\xffabc", "__CURSOR=1\nMESSAGE\n\x03\x00\x00\x00\x00\x00\x00\x00abc",
		"__CURSOR=1\n\n\n\n", "__CURSOR=" + strings.Repeat("x", 3*maxJournalField),
	} {
		lines, _ := io.ReadAll(journalLines(bufio.NewReader(strings.NewReader(text))))
		if bytes.Count(lines, []byte("\n")) > 1 {
			t.Errorf("%.40q: %.80q", text, lines)
		}
	}
}
