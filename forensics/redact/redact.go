// Package redact masks secrets in everything that came from a node, so that a report can be attached to a ticket.
//
// Structured values are parsed first: mount options ([Redactor.Options]), command lines ([Redactor.Args]), URLs and mount
// sources ([Redactor.URL]). Everything else, and what is left of those, is free text ([Redactor.Text]), in which a secret
// is known by the name that it is assigned to, or by its own shape: "password: x" in YAML, JSON and JSON inside JSON,
// private keys, JWTs, tokens with a prefix.
//
// The same secret gives the same placeholder within a run, so a reader sees which places have the same one. A ledger
// counts what was masked, and never has the secret. Pod UIDs, image digests, container ids, volume names and paths are
// not masked, because a report without them would be useless.
package redact

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"sync"

	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// A Redactor masks secrets. Use [New]. Its methods may be called by several goroutines at once. Each takes where, the
// kind of place that the ledger counts by ("command lines", "mount cifs").
type Redactor struct {
	key      []byte
	machine  *machine
	programs map[string]program

	mu     sync.Mutex
	ledger map[entry]int
}

type entry struct{ where, rule string }

// LedgerEntry says how many secrets a rule has masked in one kind of place.
type LedgerEntry struct {
	Where string `json:"where"`
	Rule  string `json:"rule"`
	Count int    `json:"count"`
}

// New returns a Redactor whose placeholders are keyed with key: random bytes, new for each run, so that guesses cannot be
// tried against them. Without a key the placeholders can be guessed back; that is for tests.
func New(key []byte) *Redactor {
	t := sharedTables()
	return &Redactor{key: slices.Clone(key), machine: t.machine, programs: t.programs, ledger: map[entry]int{}}
}

// tables are the same for every Redactor, and never change.
type tables struct {
	machine  *machine
	programs map[string]program
}

var sharedTables = sync.OnceValue(func() tables {
	programs := readPrograms()
	return tables{newMachine(triggers(programs)), programs}
})

// Ledger lists what has been masked so far, sorted by place and rule.
func (r *Redactor) Ledger() []LedgerEntry {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]LedgerEntry, 0, len(r.ledger))
	for e, n := range r.ledger {
		list = append(list, LedgerEntry{Where: e.where, Rule: e.rule, Count: n})
	}
	sorting.Stable(list, func(a, b LedgerEntry) int {
		return cmp.Or(cmp.Compare(a.Where, b.Where), cmp.Compare(a.Rule, b.Rule))
	})
	return list
}

// mask returns the placeholder of a secret, "[masked:RULE:ab12cd]", and counts it. Nothing and a placeholder stay what
// they are.
func (r *Redactor) mask(where, rule, secret string) string {
	if secret == "" || placeholderAt(secret, 0) == len(secret) {
		return secret
	}
	mac := hmac.New(sha256.New, r.key)
	mac.Write([]byte(plain(secret)))
	r.mu.Lock()
	r.ledger[entry{where, rule}]++
	r.mu.Unlock()
	return placeholderStart + rule + ":" + hex.EncodeToString(mac.Sum(nil)[:digestLen/2]) + "]"
}

const (
	placeholderStart = "[masked:"
	digestLen        = 6
)

// placeholderAt returns where the placeholder ends that begins at s[i], or -1.
func placeholderAt(s string, i int) int {
	rest, ok := strings.CutPrefix(s[i:], placeholderStart)
	if !ok {
		return -1
	}
	rule := span(rest, 0, func(c byte) bool { return isLower(c) || isDigit(c) || c == '-' })
	digest := rule + 1
	end := digest + digestLen
	if rule == 0 || end >= len(rest) || rest[rule] != ':' || rest[end] != ']' || span(rest, digest, isLowerHex) != end {
		return -1
	}
	return i + len(placeholderStart) + end + 1
}
