package logs

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
)

// storyOf is what a text tells.
func storyOf(text string) Story {
	return Read(context.Background(), []Source{{Path: "log", Open: func(context.Context) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }}}, Options{Now: noon})
}

// TestUnrecognizedErrors: an error that no kind covers is counted by the place in the code that logs it, and by how it begins where that is
// not told. What is known, what is no error and what others log is none.
func TestUnrecognizedErrors(t *testing.T) {
	const at = "1120 10:00:00.000000    2588 "
	widget := func(severity string) string {
		return severity + at + "widget.go:17] \"Failed to turn the widget\" widget=\"a\"\n"
	}
	shim := func(n int) string {
		return fmt.Sprintf("Nov 20 10:00:00 n containerd[7]: time=\"2026-11-20T10:00:00Z\" level=error msg=\"strange thing %d happened\"\n", n)
	}
	for name, tt := range map[string]struct {
		text string
		want []UnrecognizedError
	}{
		"an error":             {widget("I") + strings.Repeat(widget("E"), 3) + widget("W"), []UnrecognizedError{{Origin: "kubelet", Source: "widget.go:17", Count: 3}}},
		"a fatal error":        {widget("F"), []UnrecognizedError{{Origin: "kubelet", Source: "widget.go:17", Count: 1}}},
		"of a runtime":         {shim(1) + shim(2), []UnrecognizedError{{Origin: "containerd", Count: 2}}},
		"the most frequent is": {"E" + at + "a.go:1] odd\n" + strings.Repeat(widget("E"), 2), []UnrecognizedError{{Origin: "kubelet", Source: "widget.go:17", Count: 2}, {Origin: "kubelet", Source: "a.go:1", Count: 1}}},
		"one that is known":    {"E" + at + "kubelet_volumes.go:263] orphaned pod \"5c948341-c030-4996-b888-f032577d97b0\" found, but volume paths are still present on disk\n", nil},
		"a warning":            {strings.Repeat(widget("W"), 9), nil},
		"of a sidecar":         {"E" + at + "csi_handler.go:227] odd\n", nil},
		"of another program":   {"Nov 20 10:00:00 n sshd[1]: " + widget("E"), nil},
		"prose":                {"E, as everybody knows, is a letter.\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := storyOf(tt.text).UnrecognizedErrors
			if len(got) != len(tt.want) {
				t.Fatalf("%+v, want %+v", got, tt.want)
			}
			for i, e := range got {
				if e.Quote.Text == "" || e.Quote.Line == 0 {
					t.Errorf("%+v has no quote", e)
				}
				if e.Quote = (Quote{}); e != tt.want[i] {
					t.Errorf("%+v, want %+v", e, tt.want[i])
				}
			}
		})
	}
}

// TestUnrecognizedErrorsAreBounded: a log can have one in each line, all of them different, and long ones are sampled.
func TestUnrecognizedErrorsAreBounded(t *testing.T) {
	var b strings.Builder
	for i := range 200_000 {
		fmt.Fprintf(&b, "E1120 10:00:00.000000    2588 f%d.go:%d] odd\n", i%1000, i)
	}
	got := storyOf(b.String()).UnrecognizedErrors
	if len(got) != maxUnrecognizedListed {
		t.Errorf("%d are listed", len(got))
	}
	for _, e := range got {
		if e.Count > 2 {
			t.Errorf("%+v", e)
		}
	}
}

// TestMessageInASentence: what people quote within a sentence about the present is a message.
func TestMessageInASentence(t *testing.T) {
	const message = `Unable to connect to the server: x509: certificate has expired or is not yet valid`
	for sentence, want := range map[string]bool{
		`I started it again, and it says: "` + message + `".`:                            true,
		"Then kubectl fails with `" + message + "`, on each node.":                       true,
		`With the time set back it works, else there is the error '` + message + `'`:     true,
		`Until yesterday we had the error "` + message + `"`:                             false,
		`The error "` + message + `" was fixed by renewing it.`:                          false,
		`The log says "` + message + `" is expected`:                                     false,
		`If the log says "` + message + `", renew it.`:                                   false,
		`"` + message + `": see chapter 4`:                                               false,
		`summary: "` + message + `"`:                                                     false,
		`return fmt.Errorf("` + message + `", err)`:                                      false,
		"Nov 20 10:00:00 n sshd[1]: the peer says: \"" + message + "\"":                  false,
		`it says: "certificate has expired"`:                                             false,
		`The cluster worked until May. Now kubectl gives "` + message + `" all the time`: true,
	} {
		if got := len(storyOf(sentence+"\n").Events) > 0; got != want {
			t.Errorf("%s: %v, want %v", sentence, got, want)
		}
	}
}

// TestSyslogWithoutPriority: files of syslog daemons can have lines of RFC 5424 without the priority.
func TestSyslogWithoutPriority(t *testing.T) {
	p := lineParser{latest: noon}
	for line, want := range map[string]string{
		"2024-02-07T03:14:05.118391+00:00 n2 kubelet 22609 - -  E0207 03:14:05.118022   22609 a.go:176] odd": "n2 kubelet 22609 odd",
		`2024-02-07T03:14:05Z n2 kubelet 22609 - [a@1 b="c d"] E0207 03:14:05.118022   22609 a.go:176] odd`:  "n2 kubelet 22609 odd",
		"2024-02-07T03:14:05Z n2 kernel - - - NFS: odd":                                                      "n2 kernel 0 NFS: odd",
		"2024-02-07T03:14:05Z we saw 3 - 4 of these odd":                                                     "  0 we saw 3 - 4 of these odd",
		"2024-02-07T03:14:05Z n2 kubelet[22609]: E odd":                                                      "n2 kubelet 22609 E odd",
		"2024-02-07T03:14:05Z one two three - - and more":                                                    "  0 one two three - - and more",
	} {
		e, _ := p.parse(line)
		if got := fmt.Sprintf("%s %s %d %s", e.Host, e.Origin, e.PID, e.Message); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}
