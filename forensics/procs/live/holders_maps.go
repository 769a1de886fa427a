package live

import (
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"slices"
	"strconv"

	"github.com/nodeforensics/nodeforensics/internal/hostfs"
	"github.com/nodeforensics/nodeforensics/internal/nodefs"
	"github.com/nodeforensics/nodeforensics/internal/procfd"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

const (
	// maxMaps is how much of /proc/PID/maps is read: vm.max_map_count is 65,530 by default.
	maxMaps = 32 << 20
	// maxMapLine bounds a line. The kernel writes paths of any length there, and of longer ones the mount alone is told.
	maxMapLine = 16 << 10
	// maxMapped bounds the files of one process, in bytes. What is beyond it is one file of each directory, up to twice as much.
	maxMapped = 512 << 10
	// maxMapNames bounds the names that only memory maps have, in bytes, for each scanner: a pod can have many processes.
	maxMapNames = 4 << 20
	// nameCost is what a name takes beside its bytes.
	nameCost = 128
)

// tooMany replaces the path of a mapped file beyond maxMapNames. Its file system is still listed.
const tooMany = "/(one of too many paths)"

// mappings are the files of one process's memory. What reads them may not return, and then keeps this for itself.
type mappings struct {
	buf   []byte
	files []mapping
	paths []byte // of the files, one behind another
	cost  int
	known map[uint64]struct{} // hashes of files, and of directories beyond maxMapped
	seed  maphash.Seed
	full  bool // something was left out
}

type mapping struct {
	device uint64
	end    int // of its path in paths
}

func newMappings() *mappings {
	return &mappings{buf: make([]byte, maxMapLine), known: map[uint64]struct{}{}, seed: maphash.MakeSeed()}
}

// start is where the path of a file begins.
func (m *mappings) start(i int) int {
	if i == 0 {
		return 0
	}
	return m.files[i-1].end
}

// readMaps finds the files in the memory of a process, and then calls rest. The file maps needs the lock of the memory map,
// which a process that is blocked may hold forever: then it is false, and another goroutine calls rest and goes on.
func (s *scanner) readMaps(p *subject, rest func()) (back bool) {
	m := s.maps
	s.maps = nil // a call that does not return keeps it
	if m == nil {
		m = newMappings()
	}
	var err error
	read := func() { err = m.read(p.dir, p.alive+"maps") }
	if !p.inLane(s.lane, read, func() { rest(); s.run() }) {
		return false
	}
	if p.lost == nil {
		s.takeMaps(p, m, err)
	}
	rest()
	return true
}

func (s *scanner) takeMaps(p *subject, m *mappings, err error) {
	if errors.Is(err, nodefs.ErrTruncated) {
		s.c.problems.add("memory maps", fmt.Errorf("%s: %w", p.key, err))
	} else {
		s.trouble("memory maps", err)
	}
	first := len(s.holds)
	for i, f := range m.files {
		at, on := s.mapName(unescapeNewline(m.paths[m.start(i):f.end])), s.device(f.device)
		if !at.internal && !s.leavesOut(p.ns, at, atMap, on) {
			s.holds = append(s.holds, hold{at: at, kind: atMap, fd: -1, device: on})
		}
	}
	files := s.holds[first:]
	if !slices.IsSortedFunc(files, holdOrder) {
		sorting.Stable(files, holdOrder)
	}
	s.holds = s.holds[:first+len(slices.Compact(files))]
	if m.cost < maxMapped/8 { // what was large once takes long to clear
		m.files, m.paths, m.cost = m.files[:0], m.paths[:0], 0
		clear(m.known)
		s.maps = m
	}
}

// mapName is name for mapped files, within bounds.
func (s *scanner) mapName(path []byte) *named {
	if known, ok := s.paths[string(path)]; ok {
		return known
	}
	if s.mapNames += len(path) + nameCost; s.mapNames > maxMapNames {
		s.c.problems.add("memory maps", errors.New("too many different files: only the file system is listed for some"))
		path = []byte(tooMany)
	}
	return s.name(path)
}

// read notes each file of /proc/PID/maps once (proc_pid_maps(5)):
//
//	00400000-00452000 r-xp 00000000 08:02 173521      /usr/bin/dbus-daemon
//
// Lines without an inode are no files. A newline in a path is shown as "\012", so that a line is a line.
func (m *mappings) read(dir *hostfs.Dir, name string) error {
	file, err := dir.OpenFile(name)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	have, skip := 0, false // the beginning of a line; whether what follows is the rest of one that was too long
	for total := 0; ; {
		n, err := file.Read(m.buf[have:])
		total += n
		text := m.buf[:have+n]
		for end := bytes.IndexByte(text, '\n'); end >= 0; end = bytes.IndexByte(text, '\n') {
			if !skip {
				m.line(text[:end])
			}
			skip, text = false, text[end+1:]
		}
		if len(text) == len(m.buf) || errors.Is(err, io.EOF) {
			if !skip {
				m.line(text)
			}
			skip, text = true, nil
		}
		have = copy(m.buf, text)
		switch {
		case errors.Is(err, io.EOF) && m.full:
			return fmt.Errorf("%w: too many files", nodefs.ErrTruncated)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case total > maxMaps:
			return nodefs.ErrTruncated
		}
	}
}

func (m *mappings) line(line []byte) {
	device, path, ok := procfd.ParseMapping(line)
	if !ok {
		return
	}
	if len(path) >= maxPath {
		path = []byte(tooLong)
	}
	if !m.first(device, path) {
		return
	}
	if m.cost > maxMapped && !m.first(device, path[:bytes.LastIndexByte(path, '/')+1]) {
		return // as a database that maps each of its files
	}
	if m.cost > 2*maxMapped {
		m.full = true
		return
	}
	m.cost += len(path) + nameCost
	m.paths = append(m.paths, path...)
	m.files = append(m.files, mapping{device, len(m.paths)})
}

// first says whether a path of a device has not been here before.
func (m *mappings) first(device uint64, path []byte) bool {
	hash := maphash.Bytes(m.seed, path) + device
	if _, again := m.known[hash]; again {
		return false
	}
	m.known[hash] = struct{}{}
	return true
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
