package goroutines

import "strings"

// rejoin undoes a wrong guess of chooseDump. A goroutine in state "running" begins a dump, since only the one that writes
// it runs. But Go 1.26 prints a goroutine that is just coming back from a system call as running, too, in the middle of
// a dump. It is recognised when all is read: it does not write a dump, and none of the goroutines behind it was there
// before. Two dumps of one process share most goroutines, and those of two processes at least goroutine 1.
func rejoin(found []*dump) []*dump {
	var kept []*dump
	for _, d := range found {
		if n := len(kept); n > 0 && continues(kept[n-1], d) {
			last := kept[n-1]
			last.Goroutines = append(last.Goroutines, d.Goroutines...)
			last.Truncated = last.Truncated || d.Truncated
			last.Summed += d.Summed
			last.seen += d.seen
			for i, g := range d.Goroutines {
				last.ids.add(g.ID, len(last.Goroutines)-len(d.Goroutines)+i)
			}
			continue
		}
		kept = append(kept, d)
	}
	return kept
}

func continues(before, d *dump) bool {
	if before.Form != FormDebug2 || d.Form != FormDebug2 || d.Header != "" || len(d.Goroutines) == 0 || before.seen == 0 {
		return false
	}
	first := d.Goroutines[0]
	if !strings.HasPrefix(first.State, "running") || RoleOf(first).ID == roleDump {
		return false
	}
	for _, g := range d.Goroutines {
		if _, there := before.ids.find(g.ID); there && g.ID > 0 {
			return false
		}
	}
	return true
}
