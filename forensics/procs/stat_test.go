package procs

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// statTail is a stat line of Linux 6.18 behind the name.
const statTail = " S 26457 26457 24535 0 -1 4194304 123 0 1 0 0 0 0 0 20 0 3 0 96236 2990080 412 18446744073709551615 " +
	"94402003808256 94402003826185 140733462323264 0 0 0 0 6 0 1 0 0 17 5 0 0 0 0 0 94402003840272 94402003841536 " +
	"94402327912448 140733462325959 140733462325969 140733462325969 140733462327273 0\n"

func TestParseStat(t *testing.T) {
	plain := Stat{
		ID: 26459, Comm: "sleep", State: "S", PPID: 26457, Flags: 4194304, Threads: 3, StartTicks: 96236, Processor: 5,
	}
	named := func(comm string) Stat { s := plain; s.Comm = comm; return s }
	for name, tc := range map[string]struct {
		text string
		want Stat
	}{
		"plain":                        {"26459 (sleep)" + statTail, plain},
		"name like the rest of a line": {"26459 (a) R 1 (b)" + statTail, named("a) R 1 (b")},
		"name is one parenthesis":      {"26459 ())" + statTail, named(")")},
		"name is empty":                {"26459 ()" + statTail, named("")},
		"name has a newline":           {"26459 (a\nb)" + statTail, named("a\nb")},
		"name is not UTF-8":            {"26459 (\xff\xfe)" + statTail, named("\xff\xfe")},
		"kernel thread": {
			"2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 21 0 0 18446744073709551615 0 0 0 0 0 0 0 2147483647 0 " +
				"0 0 0 0 1 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
			Stat{ID: 2, Comm: "kthreadd", State: "S", Flags: 2129984, Threads: 1, StartTicks: 21, Processor: 1},
		},
		"state of an idle kernel thread": {strings.Replace("26459 (sleep)"+statTail, " S ", " I ", 1), func() Stat {
			s := plain
			s.State = "I"
			return s
		}()},
		"no processor": {
			"7 (old) D 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0",
			Stat{ID: 7, Comm: "old", State: "D", PPID: 1, Threads: 1, StartTicks: 5, Processor: -1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseStat([]byte(tc.text))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("ParseStat (-want +got):\n%s", diff)
			}
			if got.Kernel() != (name == "kernel thread") {
				t.Errorf("Kernel = %t", got.Kernel())
			}
		})
	}
}

func TestParseStatErrors(t *testing.T) {
	for name, text := range map[string]string{
		"empty":           "",
		"no name":         "1 S 1",
		"name not closed": "1 (a S 1",
		"no id":           "(a) S 1",
		"id is a word":    "x (a)" + statTail,
		"id is 0":         "0 (a)" + statTail,
		"cut":             "1 (a) S 1 1 1 0 -1 4194304 123",
		"ends with name":  "1 (a)",
		"parent a word":   "1 (a) S x 1 1 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 1 0 5",
		"start a word":    "1 (a) S 1 1 1 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 1 0 x",
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := ParseStat([]byte(text)); !errors.Is(err, errStat) {
				t.Errorf("ParseStat = %+v, %v; want an error", got, err)
			}
		})
	}
}

func TestParseStatus(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		want Status
	}{
		"effective user": {
			"Name:\tsu\nUid:\t1000\t0\t0\t0\nGid:\t5\t5\t5\t5\nvoluntary_ctxt_switches:\t40\nnonvoluntary_ctxt_switches:\t2\n",
			Status{UID: 0, Switches: 42, Counted: true},
		},
		"name like a line":      {"Name:\tx\\nUid:\t9\t9\n", Status{UID: -1}},
		"largest user":          {"Uid:\t4294967294\t4294967294\t0\t0\n", Status{UID: 4294967294}},
		"no counts":             {"Uid:\t1\t2\t3\t4", Status{UID: 2}},
		"not a number":          {"Uid:\tx\ty\nvoluntary_ctxt_switches:\tmany\n", Status{UID: -1}},
		"empty":                 {"", Status{UID: -1}},
		"without a final break": {"nonvoluntary_ctxt_switches:\t7", Status{UID: -1, Switches: 7, Counted: true}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ParseStatus([]byte(tc.text)); got != tc.want {
				t.Errorf("ParseStatus = %+v; want %+v", got, tc.want)
			}
		})
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("26459 (a) (b)" + statTail))
	f.Add([]byte("2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 21"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := ParseStat(text)
		if err != nil {
			if s != (Stat{}) {
				t.Errorf("half a result %+v with %v", s, err)
			}
			return
		}
		if s.ID <= 0 || s.State == "" {
			t.Errorf("ParseStat = %+v", s)
		}
		line := fmt.Sprintf("%d (%s) %s %d 0 0 0 0 %d 0 0 0 0 0 0 0 0 0 0 %d 0 %d", s.ID, s.Comm, s.State, s.PPID, s.Flags, s.Threads, s.StartTicks)
		if s.Processor != -1 {
			line += strings.Repeat(" 0", fieldProcessor-fieldStart-1) + fmt.Sprintf(" %d", s.Processor)
		}
		if again, err := ParseStat([]byte(line)); err != nil || again != s {
			t.Errorf("ParseStat(%q) = %+v, %v; want %+v", line, again, err, s)
		}
	})
}

func FuzzParseStatus(f *testing.F) {
	f.Add([]byte("Uid:\t0\t0\t0\t0\nvoluntary_ctxt_switches:\t40\nnonvoluntary_ctxt_switches:\t2\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if s := ParseStatus(text); s.UID < -1 || !s.Counted && s.Switches != 0 {
			t.Errorf("ParseStatus = %+v", s)
		}
		_ = ParseStack(string(text))
	})
}
