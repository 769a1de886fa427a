package pattern

import (
	"regexp/syntax"
	"slices"
	"unicode"
	"unicode/utf8"
)

// A first is with which bytes a text can begin that matches an expression at its beginning (^). The zero value is any text. Of most lines
// that are looked at, the first byte already tells that they do not match.
type first struct {
	known bool
	bytes [4]uint64 // a bit for each
}

// in says whether a text begins with one of the bytes.
func (f *first) in(text string) bool { return !f.known || text != "" && f.has(text[0]) }

func (f *first) has(b byte) bool { return f.bytes[b/64]&(1<<(b%64)) != 0 }

// firstOf is with what a text begins that matches an expression.
func firstOf(re *syntax.Regexp) first {
	if !anchored(re) {
		return first{}
	}
	prog, err := syntax.Compile(re)
	if err != nil {
		return first{}
	}
	f := first{known: true}
	seen := make([]bool, len(prog.Inst))
	var walk func(pc uint32)
	walk = func(pc uint32) {
		if seen[pc] {
			return
		}
		seen[pc] = true
		switch inst := &prog.Inst[pc]; inst.Op {
		case syntax.InstMatch: // without any byte
			f.known = false
		case syntax.InstAlt, syntax.InstAltMatch:
			walk(inst.Out)
			walk(inst.Arg)
		case syntax.InstCapture, syntax.InstEmptyWidth, syntax.InstNop:
			walk(inst.Out)
		case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
			f.add(inst)
		}
	}
	walk(uint32(prog.Start))
	return f
}

// anchored says whether all that an expression matches begins with the text.
func anchored(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpBeginText:
		return true
	case syntax.OpConcat, syntax.OpCapture:
		return anchored(re.Sub[0])
	case syntax.OpAlternate:
		return !slices.ContainsFunc(re.Sub, func(sub *syntax.Regexp) bool { return !anchored(sub) })
	}
	return false
}

// add adds the first bytes of what an instruction matches. Those of more than one byte are not told apart.
func (f *first) add(inst *syntax.Inst) {
	beyond := beyondASCII(inst)
	for b := range len(f.bytes) * 64 {
		if b < utf8.RuneSelf && inst.MatchRune(rune(b)) || b >= utf8.RuneSelf && beyond {
			f.bytes[b/64] |= 1 << (b % 64)
		}
	}
}

// beyondASCII says whether an instruction may match what is not ASCII.
func beyondASCII(inst *syntax.Inst) bool {
	switch {
	case inst.Op == syntax.InstRuneAny || inst.Op == syntax.InstRuneAnyNotNL:
		return true
	case len(inst.Rune) == 1: // it alone, or what differs from it in case: "k" and the sign of Kelvin
		r := inst.Rune[0]
		if syntax.Flags(inst.Arg)&syntax.FoldCase != 0 {
			for next := unicode.SimpleFold(r); next != inst.Rune[0]; next = unicode.SimpleFold(next) {
				r = max(r, next)
			}
		}
		return r >= utf8.RuneSelf
	}
	return inst.Rune[len(inst.Rune)-1] >= utf8.RuneSelf
}
