package goroutines

// This file ends goroutines: keeps them, or says why not.

// finish ends the goroutine being read and keeps it. One without frames is kept where the dump says that it has some and does not
// print them: the main goroutine has no creator either.
func (m *machine) finish() {
	read := m.mode >= inFrames
	m.mode = outside
	m.awaiting, m.gapped = nil, false
	m.foreign = 0
	m.sawCall = false
	if !read {
		return
	}
	m.g.dropRuntime()
	if m.headless && !m.keepHeadless() {
		return
	}
	if len(m.g.Frames) == 0 && !m.g.created && m.g.Elided == 0 && !m.g.unavailable {
		m.text.problems.add(m.g.Line, "goroutine %d dropped: no frames", m.g.ID)
		return
	}
	m.keep()
}

func (m *machine) keep() {
	d := m.dump
	if d.Form != formDebug1 {
		if i, repeated := d.ids.find(m.g.ID); repeated && d.Form == formCrash {
			m.replace(d, i)
			return
		}
		if m.g.ID > 0 { // every thread has a goroutine 0
			d.ids.add(m.g.ID, len(d.Goroutines))
		}
	}
	d.seen += m.g.Count
	if d.surplus {
		return
	}
	m.g.loose, m.text.names.loose = m.text.names.loose, 0
	m.text.emit(d, &m.g)
}

// replace takes the second stack of a goroutine in one crash: with
// GOTRACEBACK=crash each thread adds the one it was running, of which the first
// had only said "goroutine running on other thread; stack unavailable".
func (m *machine) replace(d *dump, i int) {
	if i < len(d.Goroutines) && d.Goroutines[i].ID == m.g.ID && len(d.Goroutines[i].Frames) == 0 {
		var slab frameSlab
		d.Goroutines[i] = m.g.goroutine(&slab)
	}
}

// end is the end of the input, after lastLine.
func (m *machine) end(lastLine int) {
	switch {
	case m.gapped: // the empty line ended it
	case m.mode == skipping && m.badHeader == lastLine && m.dump != nil:
		m.dump.Truncated = true
	case m.endsWithin():
		m.g.Cut = true
		m.g.created = false // perhaps half a name
		if m.dump != nil {
			m.dump.Truncated = true
		}
		m.text.problems.add(m.g.Line, "goroutine %d: the dump ends within its stack", m.g.ID)
	}
	m.finish()
	m.dropOrphans()
}

// endsWithin says whether the goroutine being read lacks something. Every stack
// but that of the main goroutine ends with a creator and its location.
func (m *machine) endsWithin() bool {
	switch m.mode {
	case inFrames:
		return (m.g.ID > 1 || m.awaiting != nil) && m.sawLocation()
	case inCreator:
		return m.awaiting != nil && m.sawLocation()
	}
	return false
}

// sawLocation says whether this goroutine was printed with locations.
func (m *machine) sawLocation() bool {
	for i := range m.g.Frames {
		if m.g.Frames[i].File != "" {
			return true
		}
	}
	return false
}

// orphan counts a frame without a goroutine.
func (m *machine) orphan(n int) {
	if m.orphans == 0 {
		m.orphanLine = n
	}
	m.orphans++
	m.orphanEnd = n
	m.sawCall = false
}

func (m *machine) dropOrphans() {
	if m.orphans > 0 {
		m.text.problems.add(m.orphanLine, "%d frames without a goroutine dropped: the header is missing", m.orphans)
		m.orphans = 0
	}
}

// gap is told that the log lost lines here: what follows need not belong to
// the goroutine being read.
func (m *machine) gap(n int) {
	if m.mode == outside {
		return
	}
	if m.mode >= inFrames {
		m.g.Cut = m.mode != inCreator
		if m.dump != nil {
			m.dump.Truncated = true
		}
		m.text.problems.add(n, "goroutine %d: the log lost lines within its stack", m.g.ID)
		m.finish()
	}
}
