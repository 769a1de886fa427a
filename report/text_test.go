package report_test

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/report"
)

var colour = regexp.MustCompile("\x1b\\[[0-9;]*m")

func TestTextColour(t *testing.T) {
	r := load(t, "hung-mount")
	plain := text(t, r, report.TextOptions{})
	painted := text(t, r, report.TextOptions{Color: true})
	if strings.Contains(plain, "\x1b") {
		t.Error("colour that nobody asked for")
	}
	if !strings.Contains(painted, "\x1b[1;31mCRITICAL\x1b[0m") {
		t.Error("critical is not painted")
	}
	if colour.ReplaceAllString(painted, "") != plain {
		t.Error("colour changes the words")
	}
}

// Only commands and file names are wider than asked for: people copy them.
func TestTextWidth(t *testing.T) {
	for _, width := range []int{0, 40, 60, 80, 132} {
		for _, name := range []string{"hung-mount", "healthy", "nothing-checked"} {
			r := load(t, name)
			whole := map[string]bool{}
			for _, d := range r.Diagnoses {
				for _, step := range d.Remedies {
					whole[step.String()] = true
				}
			}
			most := width
			if most == 0 {
				most = 80
			}
			for line := range strings.Lines(text(t, r, report.TextOptions{Width: width})) {
				line = strings.TrimSuffix(line, "\n")
				_, command, _ := strings.Cut(strings.Replace(line, "Fix: ", ". ", 1), ". ")
				if utf8.RuneCountInString(line) > most && !whole[command] {
					t.Errorf("%s at %d columns: %q", name, width, line)
				}
			}
		}
	}
}

// TestTextIsShort counts lines: what one needs first is on one screen, with two lines for the files.
func TestTextIsShort(t *testing.T) {
	t.Parallel()
	reports := map[string]report.Report{}
	for _, name := range []string{"hung-mount", "healthy", "nothing-checked"} {
		reports[name] = load(t, name)
	}
	for _, name := range captureNames {
		reports[name] = captured(t, name)
	}
	long := load(t, "hung-mount") // one problem, whose first step takes five lines
	long.Diagnoses = long.Diagnoses[:1]
	long.Findings = long.Findings[:len(long.Diagnoses[0].Findings)]
	long.Diagnoses[0].Remedies[1].Instruction = strings.Repeat("Check the server and the path to it. ", 10)
	for i := range long.Diagnoses[0].Findings {
		long.Diagnoses[0].Findings[i] = i
	}
	reports["a long step"] = long
	for name, r := range reports {
		out := text(t, r, report.TextOptions{Files: []string{"/tmp/x.html", "/tmp/x.json"}})
		most := 24
		inDiagnoses := map[int]bool{}
		for i, d := range r.Diagnoses {
			if i > 0 {
				most += 8
			}
			for _, f := range d.Findings {
				inDiagnoses[f] = true
			}
		}
		others := 0
		for i, f := range r.Findings {
			if !inDiagnoses[i] && f.ID != "log-noise" && (f.Severity != forensics.Info || len(r.Diagnoses) == 0) {
				others++
			}
		}
		if others > 0 {
			most += others + 2
		}
		if n := strings.Count(out, "\n"); n > most {
			t.Errorf("%s has %d lines, at most %d:\n%s", name, n, most, out)
		}
	}
}

// TestTextOrder: what is broken, who is affected, what to do, why, what is not known, where the rest is.
func TestTextOrder(t *testing.T) {
	r := load(t, "hung-mount")
	for first, opt := range map[string]report.TextOptions{"2. Restore the server": {}, "1. kubectl cordon worker-7": {Verbose: true}} { // the cause first
		opt.Files = []string{"/tmp/x.html"}
		out, at := text(t, r, opt), 0
		for _, want := range []string{"worker-7", "CRITICAL  ", "Since ", "Affected ", "Confidence  certain", "Fix", first, "Why we think so", "1. ", "WARNING  ", "Not checked: 3 of 17 checks", "Report: /tmp/x.html"} {
			i := strings.Index(out[at:], want)
			if i < 0 {
				t.Fatalf("%+v: %q is missing, or not behind what comes before it:\n%s", opt, want, out)
			}
			at += i + len(want)
		}
	}
}

// TestTextKeepsSafetyWithTheStep: no command stands without what must hold and what it risks.
func TestTextKeepsSafetyWithTheStep(t *testing.T) {
	r := load(t, "hung-mount")
	for _, width := range []int{40, 80, 132} {
		out := strings.Join(strings.Fields(text(t, r, report.TextOptions{Width: width})), " ")
		shown := 0
		for _, d := range r.Diagnoses {
			for _, step := range d.Remedies {
				if !strings.Contains(out, ". "+step.String()+" ") && !strings.Contains(out, "Fix: "+step.String()+" ") {
					continue
				}
				shown++
				for _, note := range []string{step.OnlyIf, step.Risk} {
					if note = strings.Join(strings.Fields(note), " "); !strings.Contains(out, note) {
						t.Errorf("%d columns: %q without %q", width, step.String(), note)
					}
				}
			}
		}
		if shown == 0 {
			t.Errorf("%d columns: no step is shown", width)
		}
	}
}

// TestTextVerbose has every step, every detail, and each check that was not made with its reason.
func TestTextVerbose(t *testing.T) {
	r := load(t, "hung-mount")
	r.Findings[r.Diagnoses[0].Findings[0]].Detail = "One of 8,549 requests is 46 min old."
	out := strings.Join(strings.Fields(text(t, r, report.TextOptions{Verbose: true})), " ")
	for _, d := range r.Diagnoses {
		for _, step := range d.Remedies {
			if !strings.Contains(out, strings.TrimSuffix(step.Why, ".")) {
				t.Errorf("%q is not explained", step.String())
			}
		}
	}
	for _, want := range []string{"8,549", "pod-podgc, csi-driver-missing:", "eviction-stuck:"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

// TestTextQuiet has a line for each problem, and where the rest is.
func TestTextQuiet(t *testing.T) {
	r := load(t, "hung-mount")
	out := text(t, r, report.TextOptions{Quiet: true, Width: 200, Files: []string{"/tmp/x.html"}})
	if n := strings.Count(out, "\n"); n != len(r.Diagnoses)+1 {
		t.Errorf("%d lines:\n%s", n, out)
	}
}

// TestTextWarnsWhereItFits: rm -rf is warned of where pods have left something, and there alone.
func TestTextWarnsWhereItFits(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{"kubelet-1.17.4-orphan-leftover": true, "kubelet-1.34.4-runtime-stopped": false, "kubelet-1.34.4-disk-pressure": false} {
		for _, verbose := range []bool{false, true} {
			if got := strings.Contains(text(t, captured(t, name), report.TextOptions{Verbose: verbose}), "rm -rf"); got != want {
				t.Errorf("%s (verbose %t) warns: %t", name, verbose, got)
			}
		}
	}
}
