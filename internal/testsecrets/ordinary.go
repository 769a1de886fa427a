package testsecrets

import (
	_ "embed"
	"encoding/base64"
	"fmt"
	"iter"
	"math/rand/v2"
	"strconv"
	"strings"
)

//go:embed ordinary.txt
var ordinary string

// names are what people call what they run, secrets' words among them.
var names = strings.Fields(`web api shop cart-db default kube-system rook-ceph token-service auth-proxy secrets-store vault password-reset keycloak
	redis mysql mongo monitoring ingress-nginx sk-web key-manager pass-through basic cert-manager-cainjector tokens credentials-operator`)

// Ordinary are lines of logs that hold no secret, in turn, for ever: the same for a seed, but never the same twice.
func Ordinary(seed uint64) iter.Seq[string] {
	var lines []string
	for line := range strings.Lines(ordinary) {
		if !strings.HasPrefix(line, "#") {
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
	}
	g := generator{Rand: rand.New(rand.NewPCG(seed, seed))}
	return func(yield func(string) bool) {
		for {
			for _, line := range lines {
				if !yield(g.ordinary(line)) {
					return
				}
			}
		}
	}
}

func (g *generator) ordinary(line string) string {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(line, "‹")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		kind, after, _ := strings.Cut(rest, "›")
		b.WriteString(g.word(kind))
		line = after
	}
}

// word makes what stands in ordinary lines.
func (g *generator) word(kind string) string {
	n, _ := strconv.Atoi(strings.TrimLeft(kind, lower+upper))
	switch strings.TrimRight(kind, digit) {
	case "date":
		return fmt.Sprintf("1120 10:%02d:%02d.%06d", g.IntN(60), g.IntN(60), g.IntN(1e6))
	case "uid":
		s := g.of("abcdef"+digit, 32)
		return s[:8] + "-" + s[8:12] + "-4" + s[13:16] + "-a" + s[17:20] + "-" + s[20:]
	case "hex":
		return g.of("abcdef"+digit, n)
	case "hash":
		return g.of(lower+upper+digit, n)
	case "AN":
		return g.of(upper+digit, n)
	case "rand":
		return g.of("bcdfghjklmnpqrstvwxz2456789", n)
	case "ip":
		return fmt.Sprintf("10.%d.%d.%d", g.IntN(256), g.IntN(256), 1+g.IntN(254))
	case "n":
		return strconv.Itoa(1 + g.IntN(9e5))
	case "name":
		return names[g.IntN(len(names))]
	case "pod":
		return g.word("name") + "-" + g.of("bcdf2456789", 10) + "-" + g.word("rand5")
	case "b":
		return base64.StdEncoding.EncodeToString(fmt.Appendf(nil, `{"pool":"p%d","volume":"v%d","cluster":"c"}`, g.IntN(1e6), g.IntN(1e6)))
	}
	panic("no kind of word: " + kind) //nolint:forbidigo // a mistake in a list of this package
}
