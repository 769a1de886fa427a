package testnode

import (
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
)

// Kinds are all kinds of things that a node, or who makes a file for it, can multiply.
func Kinds() []Kind {
	list := []Kind{}
	for _, group := range [][]Kind{mountKinds(), processKinds(), podKinds(), clusterKinds(), logKinds(), otherKinds(), fieldKinds()} {
		list = append(list, group...)
	}
	return list
}

// Everything is all kinds at once, a share of n of each: what one check makes of two kinds grows with their product.
func Everything() Kind {
	return Kind{"everything", func(e *forensics.Evidence, n int) {
		kinds := Kinds()
		for _, k := range kinds {
			k.Add(e, 1+n/len(kinds))
		}
	}}
}

// fieldKinds are long fields and fields of many words, in the hands of a pod or of who makes a file.
func fieldKinds() []Kind {
	words := func(n int) string { return strings.Repeat("key= ", n) }
	set := func(name string, set func(e *forensics.Evidence, text string)) []Kind {
		return []Kind{
			{"words in " + name, func(e *forensics.Evidence, n int) { set(e, words(n)) }},
			{"length of " + name, func(e *forensics.Evidence, n int) { set(e, strings.Repeat("x", 5*n)) }},
		}
	}
	list := []Kind{}
	for _, group := range [][]Kind{
		set("a mount point", func(e *forensics.Evidence, text string) { e.Mounts.Mounts[1].MountPoint += "/" + text }),
		set("mount options", func(e *forensics.Evidence, text string) {
			e.Mounts.Mounts[1].SuperOptions += "," + strings.ReplaceAll(text, " ", ",")
		}),
		set("a command line", func(e *forensics.Evidence, text string) {
			e.Processes[1].Command = append(e.Processes[1].Command, text)
		}),
		set("a process's name", func(e *forensics.Evidence, text string) { e.Processes[1].Comm += text }),
		set("a path that is waited for", func(e *forensics.Evidence, text string) { e.Threads[0].Path += "/" + text }),
		set("a frame", func(e *forensics.Evidence, text string) { e.Dumps[0].Goroutines[0].Frames[2].Func += text }),
		set("a coverage entry", func(e *forensics.Evidence, text string) {
			e.Coverage[0].Status, e.Coverage[0].Detail = "truncated", text
		}),
		set("a log line", func(e *forensics.Evidence, text string) {
			eventKind().Add(e, 1)
			e.Logs.Events[0].Quotes[0].Text += text
			e.Logs.Events[0].Reason += text
		}),
	} {
		list = append(list, group...)
	}
	return append(list, Kind{"arguments of a command line", func(e *forensics.Evidence, n int) {
		e.Processes[1].Command = append(e.Processes[1].Command, strings.Fields(words(n))...)
	}})
}
