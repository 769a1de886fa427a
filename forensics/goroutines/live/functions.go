package live

import (
	"errors"
	"sort"
	"strings"
)

// A function is one of a program, as its tables describe it (runtime._func).
type function struct {
	md    *module
	at    uint64 // of its _func
	entry uint64
	name  string
	id    byte

	pcsp, pcfile, pcln, npcdata, cu uint32
	nfuncdata                       byte
}

var errNoFunction = errors.New("in no function")

// function finds the one that has an address.
func (p *program) function(pc uint64) (*function, error) {
	for i := range p.modules {
		md := &p.modules[i]
		if pc < md.minPC || pc >= md.maxPC {
			continue
		}
		var failed error
		entry := func(i int) (uint64, uint64) {
			if p.minor >= 18 {
				a, err := p.u32(md.ftab + 8*uint64(i))
				b, err2 := p.u32(md.ftab + 8*uint64(i) + 4)
				failed = errors.Join(failed, err, err2)
				return md.address(uint64(a)), uint64(b)
			}
			a, err := p.u64(md.ftab + 16*uint64(i))
			b, err2 := p.u64(md.ftab + 16*uint64(i) + 8)
			failed = errors.Join(failed, err, err2)
			return a, b
		}
		n := int(md.nftab) - 1 // the last one is the end of the text
		i := sort.Search(n, func(i int) bool { at, _ := entry(i); return at > pc }) - 1
		if i < 0 || failed != nil {
			return nil, errors.Join(failed, errNoFunction)
		}
		at, offset := entry(i)
		if failed != nil {
			return nil, failed
		}
		return p.load(md, at, offset)
	}
	return nil, errNoFunction
}

func (p *program) load(md *module, entry, offset uint64) (*function, error) {
	at := md.pcln + offset
	if f := p.funcs[at]; f != nil {
		return f, nil
	}
	f := &function{md: md, at: at, entry: entry}
	var failed error
	u32 := func(o int) uint32 {
		if o < 0 {
			return 0
		}
		n, err := p.u32(at + uint64(o))
		failed = errors.Join(failed, err)
		return n
	}
	name := u32(p.funcName)
	f.pcsp, f.pcfile, f.pcln, f.npcdata, f.cu = u32(p.funcPCSP), u32(p.funcPCFile), u32(p.funcPCLn), u32(p.funcPCData), u32(p.funcCU)
	id, err := p.u8(at + uint64(p.funcID))
	n, err2 := p.u8(at + uint64(p.funcFuncData))
	if failed = errors.Join(failed, err, err2); failed != nil {
		return nil, failed
	}
	f.id, f.nfuncdata = id, n
	if f.name, err = p.text(md.names + uint64(name)); err != nil {
		return nil, err
	}
	if len(p.funcs) > maxFunctions {
		p.funcs = map[uint64]*function{}
	}
	p.funcs[at] = f
	return f, nil
}

// maxFunctions is how many are kept.
const maxFunctions = 20_000

// value looks an address up in a table of values by address (runtime.pcvalue): pairs of differences, of the value and of the address.
func (p *program) value(f *function, table uint32, pc uint64) (int32, bool) {
	if table == 0 {
		return 0, false
	}
	at, value, upTo := f.md.pcs+uint64(table), int32(-1), f.entry
	for n := range maxSteps {
		first := n == 0
		delta, next, err := p.varint(at)
		if err != nil || delta == 0 && !first {
			return 0, false
		}
		value += int32(-(delta & 1) ^ (delta >> 1))
		step, next, err := p.varint(next)
		if err != nil {
			return 0, false
		}
		upTo += uint64(step) * p.arch.quantum
		if at = next; pc < upTo {
			return value, true
		}
	}
	return 0, false
}

// maxSteps is how long a table of values by address may be: of the longest functions they have some ten thousand.
const maxSteps = 1 << 18

func (p *program) varint(at uint64) (n uint32, next uint64, err error) {
	for shift := 0; shift < 35; shift += 7 {
		b, err := p.u8(at)
		if err != nil {
			return 0, 0, err
		}
		at++
		n |= uint32(b&0x7f) << shift
		if b&0x80 == 0 {
			return n, at, nil
		}
	}
	return 0, 0, errors.New("a number without an end")
}

// file is a name from the table of files.
func (p *program) file(f *function, number int32) string {
	if number < 0 {
		return ""
	}
	at := f.md.pcln // before 1.16 the table has offsets into all of it
	index := f.md.files + 4*uint64(number)
	if p.modCU >= 0 {
		at, index = f.md.files, f.md.cu+4*(uint64(f.cu)+uint64(number))
	}
	offset, err := p.u32(index)
	if err != nil || offset == ^uint32(0) {
		return ""
	}
	name, _ := p.text(at + uint64(offset))
	return name
}

// pcdata is the number of a table by address of a function, funcdata the address of one of its structures; 0 where it has none.
func (p *program) pcdata(f *function, i int) uint32 {
	if uint32(i) >= f.npcdata {
		return 0
	}
	n, _ := p.u32(p.behind(f) + 4*uint64(i))
	return n
}

// behind is where the numbers of a function's further tables begin: behind its last field, without what would align the next one.
func (p *program) behind(f *function) uint64 { return f.at + uint64(p.funcFuncData) + 1 }

func (p *program) funcdata(f *function, i int) uint64 {
	if i >= int(f.nfuncdata) || f.npcdata > 64 {
		return 0
	}
	at := p.behind(f) + 4*uint64(f.npcdata)
	if p.modGoFunc >= 0 {
		n, err := p.u32(at + 4*uint64(i))
		if err != nil || n == ^uint32(0) {
			return 0
		}
		return f.md.gofunc + uint64(n)
	}
	n, _ := p.u64((at+7)&^7 + 8*uint64(i))
	return n
}

// A call is a function at a place, as a dump prints it.
type call struct {
	name    string
	file    string
	line    int
	inlined bool
	wrapper bool
	offset  uint64 // of the address behind the call from the function's entry; 0: unknown
}

// maxInlined is how many calls are inlined into one function at a place.
const maxInlined = 100

// calls are a function and what is inlined into it at an address, innermost first.
func (p *program) calls(f *function, pc uint64) []call {
	number, _ := p.value(f, f.pcfile, pc)
	line, _ := p.value(f, f.pcln, pc)
	file := p.file(f, number)
	tree := p.funcdata(f, p.inlTree)
	var list []call
	index, ok := p.value(f, p.pcdata(f, p.inlIndex), pc)
	p.odd = p.odd || ok && index >= 0 && tree == 0
	if tree != 0 {
		for ok && index >= 0 && len(list) < maxInlined {
			at := tree + uint64(index)*uint64(p.inlSize)
			if p.inlName >= 0 { // since 1.20: by the place of the call in the function
				name, err := p.u32(at + uint64(p.inlName))
				parent, err2 := p.u32(at + uint64(p.inlParentPC))
				if err != nil || err2 != nil {
					p.odd = true
					break
				}
				text, _ := p.text(f.md.names + uint64(name))
				p.odd = p.odd || !p.isName(f.md.names+uint64(name)) || text == "" || parent > 1<<24
				list = append(list, call{name: text, file: file, line: int(line), inlined: true, wrapper: p.isWrapper(at)})
				pc = f.entry + uint64(parent)
				number, _ = p.value(f, f.pcfile, pc)
				line, _ = p.value(f, f.pcln, pc)
				file = p.file(f, number)
				index, ok = p.value(f, p.pcdata(f, p.inlIndex), pc)
				continue
			}
			name, err := p.u32(at + uint64(p.inlFunc))
			callerFile, err2 := p.u32(at + uint64(p.inlFile))
			callerLine, err3 := p.u32(at + uint64(p.inlLine))
			parent, err4 := p.u32(at + uint64(p.inlParent))
			if errors.Join(err, err2, err3, err4) != nil {
				break
			}
			text, _ := p.text(f.md.names + uint64(name))
			list = append(list, call{name: text, file: file, line: int(line), inlined: true, wrapper: p.isWrapper(at)})
			file, line = p.file(f, int32(callerFile)), int32(callerLine)
			index = int32(int16(parent))
		}
	}
	return append(list, call{name: f.name, file: file, line: int(line), wrapper: f.id == p.wrapper})
}

// isName says whether a name begins there: another one ends before it.
func (p *program) isName(addr uint64) bool {
	b, err := p.u8(addr - 1)
	return err == nil && b == 0
}

// isWrapper says so of an inlined call.
func (p *program) isWrapper(at uint64) bool {
	id, err := p.u8(at + uint64(p.inlFuncID))
	return err == nil && id == p.wrapper
}

// shown says whether a dump shows a function (runtime.showfuncinfo): those of the runtime are left out but for exported ones.
func shown(name string) bool {
	if !strings.Contains(name, ".") {
		return false
	}
	rest, ok := strings.CutPrefix(name, "runtime.")
	return !ok || rest != "" && rest[0] >= 'A' && rest[0] <= 'Z'
}
