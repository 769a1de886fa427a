package procs

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/nodeforensics/nodeforensics/forensics/hostfs"
)

// maxMaps bounds /proc/PID/maps: vm.max_map_count is 65,530 by default.
const maxMaps = 32 << 20

// readMaps finds the files in the memory of a process, and then calls rest. The file maps needs the lock of the memory map,
// which a process that is blocked may hold for ever: then it is false, and another goroutine calls rest and goes on.
func (s *scanner) readMaps(p *subject, rest func()) (mine bool) {
	buf := s.maps
	s.maps = nil // a call that does not come back keeps it
	if buf == nil {
		buf = make([]byte, 0, 32<<10)
	}
	var text []byte
	var err error
	read := func() { text, err = p.dir.Append(buf[:0], p.alive+"maps", maxMaps) }
	if !p.inLane(s.lane, read, func() { rest(); s.run() }) {
		return false
	}
	if p.lost == nil {
		s.takeMaps(p, text, err)
	}
	rest()
	return true
}

func (s *scanner) takeMaps(p *subject, text []byte, err error) {
	if errors.Is(err, hostfs.ErrTruncated) {
		s.c.problems.add("memory maps", fmt.Errorf("%s: %w", p.key, err))
	} else {
		s.trouble("memory maps", err)
	}
	s.addMaps(p.ns, text)
	s.maps = text[:0]
}

// addMaps notes each file of /proc/PID/maps of a process in some mount namespace once (proc_pid_maps(5)):
//
//	00400000-00452000 r-xp 00000000 08:02 173521      /usr/bin/dbus-daemon
//
// Lines without an inode are no files. A newline in a path is shown as "\012", so that a line is a line.
func (s *scanner) addMaps(ns uint64, text []byte) {
	first := len(s.holds)
	var last []byte
	for len(text) > 0 {
		line := text
		if end := bytes.IndexByte(text, '\n'); end >= 0 {
			line, text = text[:end], text[end+1:]
		} else {
			text = nil
		}
		device, path, ok := mappedFile(line)
		if !ok || bytes.Equal(path, last) {
			continue
		}
		last = path
		at, on := s.name(unescapeNewline(path)), s.device(device)
		if !at.internal && !s.leavesOut(ns, at, atMap, on) {
			s.holds = append(s.holds, hold{at: at, kind: atMap, fd: -1, device: on})
		}
	}
	files := s.holds[first:]
	slices.SortStableFunc(files, holdOrder)
	s.holds = s.holds[:first+len(slices.Compact(files))]
}

// device spells a device, once for each.
func (s *scanner) device(device uint64) string {
	known, ok := s.devices[device]
	if !ok {
		known = spellDevice(device)
		s.devices[device] = known
	}
	return known
}

// mappedFile takes a line of maps apart; ok is false for what is no file.
func mappedFile(line []byte) (device uint64, path []byte, ok bool) {
	rest := line
	for range 3 { // addresses, permissions, offset
		at := bytes.IndexByte(rest, ' ')
		if at < 0 {
			return 0, nil, false
		}
		rest = rest[at+1:]
	}
	dev, rest, _ := bytes.Cut(rest, []byte{' '})
	inode, rest, _ := bytes.Cut(rest, []byte{' '})
	path = bytes.TrimLeft(rest, " ")
	if string(inode) == "0" || len(path) == 0 || path[0] != '/' {
		return 0, nil, false
	}
	major, minor, found := bytes.Cut(dev, []byte{':'})
	a, err1 := strconv.ParseUint(string(major), 16, 32)
	b, err2 := strconv.ParseUint(string(minor), 16, 32)
	return a<<32 | b, path, found && err1 == nil && err2 == nil
}

// unescapeNewline undoes the one escape of maps.
func unescapeNewline(path []byte) []byte {
	if !bytes.Contains(path, []byte(`\012`)) {
		return path
	}
	return bytes.ReplaceAll(path, []byte(`\012`), []byte{'\n'})
}

// spellDevice writes a device as mountinfo does.
func spellDevice(device uint64) string {
	return strconv.FormatUint(device>>32, 10) + ":" + strconv.FormatUint(device&0xffffffff, 10)
}
