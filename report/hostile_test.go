package report_test

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/nodeforensics/nodeforensics/report"
)

// payload is what a hostile node would like a reader's browser or terminal to act on.
const payload = "<script>window.pwned=1</script>\"><img src=x onerror=window.pwned=1>' onclick='window.pwned=1' " +
	"</title></style></script></pre><svg/onload=window.pwned=1><style>*{display:none}</style>" +
	"javascript:window.pwned=1 <a href=https://evil.example/>x</a> url(https://evil.example/) {{.}} ${1} `x` --> ]]> " +
	"\x1b[31m\x1b]0;owned\x07 \x00 \x7f \u202egnp.exe\u202c \u2066x\u2069 \u200b \ufeff \xff\xfe \u2028 \x9b31m a\u0301\u0301\u0301\u0301\u0301 \n\r\t | *b* [l](https://evil.example) @all"

// fill sets every field below v: strings to s, slices and maps to two and one elements, pointers to something.
func fill(v reflect.Value, s string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(s)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)))
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), s)
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), s)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), s)
		fill(v.Index(1), s)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, s)
		fill(value, s)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint64:
		v.SetUint(1)
	case reflect.Float64:
		v.SetFloat(1.5)
	case reflect.Bool:
		v.SetBool(true)
	}
}

func filled(s string) report.Report {
	var r report.Report
	fill(reflect.ValueOf(&r).Elem(), s)
	return r
}

// bent is a report whose words that the code branches on are the right ones and whose other strings are hostile: only
// so are all parts of the page reached.
func bent(t testing.TB, s string) report.Report {
	r := load(t, "hung-mount")
	bend(reflect.ValueOf(&r).Elem(), s)
	return r
}

// bend appends s to every string of the predeclared type, not to those of named types.
func bend(v reflect.Value, s string) {
	switch v.Kind() {
	case reflect.String:
		if v.Type() == reflect.TypeFor[string]() {
			v.SetString(v.String() + s)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range v.NumField() {
			bend(v.Field(i), s)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			bend(v.Elem(), s)
		}
	case reflect.Slice:
		for i := range v.Len() {
			bend(v.Index(i), s)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			value := reflect.New(v.Type().Elem()).Elem()
			value.Set(v.MapIndex(key))
			bend(value, s)
			v.SetMapIndex(key, value)
		}
	}
}

func TestHostileText(t *testing.T) {
	t.Parallel()
	long := payload + strings.Repeat("A", 4096) + payload
	for name, r := range map[string]report.Report{
		"every field":          filled(payload),
		"every field, long":    filled(long),
		"behind real text":     bent(t, payload),
		"behind text, long":    bent(t, long),
		"only markup":          filled(`<b>`),
		"empty":                {},
		"empty strings":        filled(""),
		"names of the markers": filled(`\x1b \u202e`),
	} {
		t.Run(name, func(t *testing.T) {
			html := page(t, r)
			checkPage(t, html)
			if len(html) > maxPage {
				t.Errorf("page has %d bytes", len(html))
			}
			checkText(t, text(t, r, report.TextOptions{Files: []string{payload}}))
			checkText(t, text(t, r, report.TextOptions{Verbose: true}))
			checkMarkdown(t, markdown(t, r))
			for _, d := range r.Diagnoses {
				checkText(t, report.Plain(d))
				checkMarkdown(t, report.MarkdownOf(d))
			}
		})
	}
}

// markdown is a whole report for a ticket.
func markdown(t testing.TB, r report.Report) string {
	t.Helper()
	var b strings.Builder
	if err := report.Markdown(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The hostile text must be there, made visible: a renderer that drops it would pass all other tests.
func TestHostileTextIsShown(t *testing.T) {
	r := filled(payload)
	for name, got := range map[string]string{
		"html": page(t, r), "text": text(t, r, report.TextOptions{}), "plain": report.Plain(r.Diagnoses[0]),
		"markdown": report.MarkdownOf(r.Diagnoses[0]),
	} {
		for _, want := range []string{`x1b`, `u202e`, `xff`, `x00`, `x9b`, `u2028`, `ufeff`} {
			if !strings.Contains(got, want) {
				t.Errorf("%s does not show %s", name, want)
			}
		}
	}
}

func FuzzRender(f *testing.F) {
	for _, word := range strings.Split(payload, " ") { // short: the fuzzer makes what is interesting shorter byte by byte
		f.Add(word)
	}
	f.Add("</script>")
	f.Add("\x1b\\\xff\u202e")
	f.Add(strings.Repeat("\u0301", 20))
	f.Add("kubelet/pods/../a b:goroutine 1")
	f.Fuzz(func(t *testing.T, s string) {
		r := filled(s)
		checkPage(t, page(t, r))
		checkText(t, text(t, r, report.TextOptions{Width: len(s) % 120}))
		checkMarkdown(t, report.MarkdownOf(r.Diagnoses[0]))
	})
}

const maxPage = 3_000_000

var (
	tag       = regexp.MustCompile(`^(/?)([a-zA-Z][a-zA-Z0-9]*)([^>]*)$`)
	attribute = regexp.MustCompile(`\s([^\s=<>"'/]+)(?:="([^"]*)")?`)
	headLevel = regexp.MustCompile(`^h([1-6])$`)
)

// Everything that the page is built of. An element or attribute that is not listed here came from the node, or is
// new: then look whether it can carry a script or load something.
var (
	elements = strings.Fields(`html head meta title link style body a header div p h1 h2 h3 h4 span dl dt dd nav ul ol li
		main section article time b i code pre details summary button form label input select option fieldset legend
		table caption thead tbody tr th td figure figcaption svg path rect g text footer script`)
	attributes = strings.Fields(`lang charset http-equiv content name rel href class id aria-labelledby aria-label
		datetime type hidden data-copy data-sev data-e data-v role autocomplete value checked scope tabindex open start
		viewBox width height d x y rx text-anchor aria-current`)
)

// checkPage asserts what must hold for every page, whatever the node's text is.
func checkPage(t testing.TB, html string) {
	t.Helper()
	if !utf8.ValidString(html) {
		t.Error("the page is not valid UTF-8")
	}
	style, rest := cutElement(t, html, "style")
	script, rest := cutElement(t, rest, "script")
	checkHashes(t, html, style, script)
	for _, r := range rest {
		if (r < ' ' || r > '~') && r != '\n' && unicode.In(r, unicode.C, unicode.Zl, unicode.Zp) {
			t.Fatalf("the page holds the character %U", r)
		}
	}
	ids, level := map[string]int{}, 0
	var targets []string
	for i, piece := range strings.Split(rest, "<") {
		if i == 0 || i == 1 && strings.HasPrefix(piece, "!DOCTYPE html>") {
			continue
		}
		inside, _, closed := strings.Cut(piece, ">")
		m, ok := readTag(inside)
		if !closed || !ok {
			t.Fatalf("a bare < is left in the page: <%.200s", piece)
		}
		if !slices.Contains(elements, m.name) {
			t.Fatalf("element <%s>", inside)
		}
		if h := headLevel.FindStringSubmatch(m.name); h != nil && !m.end {
			now := int(h[1][0] - '0')
			if now > level+1 {
				t.Errorf("heading <%s> follows a heading of level %d", inside, level)
			}
			level = now
		}
		for _, a := range m.attributes {
			name, value := a[1], a[2]
			if !slices.Contains(attributes, name) {
				t.Fatalf("attribute %s in <%.200s>", name, inside)
			}
			switch name {
			case "id":
				ids[value]++
			case "href":
				target, ok := strings.CutPrefix(value, "#")
				if !ok && (m.name != "link" || !strings.HasPrefix(value, "data:image/svg+xml,")) {
					t.Fatalf("href leads to %q", value)
				}
				if ok {
					targets = append(targets, target)
				}
			case "data-copy":
				targets = append(targets, value)
			case "aria-labelledby":
				targets = append(targets, strings.Fields(value)...)
			}
		}
	}
	for id, n := range ids {
		if n > 1 {
			t.Errorf("id %s stands %d times", id, n)
		}
	}
	for _, target := range targets {
		if ids[target] == 0 {
			t.Errorf("nothing has the id %q", target)
		}
	}
}

// A pageTag is what stands between < and >.
type pageTag struct {
	end        bool
	name       string
	attributes [][]string
}

var (
	tagsMu    sync.Mutex
	knownTags = map[string]pageTag{} // most are the same on every page, and the fuzzer makes many pages
)

func readTag(inside string) (pageTag, bool) {
	tagsMu.Lock()
	defer tagsMu.Unlock()
	if known, ok := knownTags[inside]; ok {
		return known, true
	}
	inside = strings.Clone(inside) // not the whole page
	m := tag.FindStringSubmatch(inside)
	if m == nil {
		return pageTag{}, false
	}
	read := pageTag{end: m[1] != "", name: m[2], attributes: attribute.FindAllStringSubmatch(m[3], -1)}
	if len(knownTags) < 10_000 {
		knownTags[inside] = read
	}
	return read, true
}

// cutElement takes the only element of a name with a text out of the page.
func cutElement(t testing.TB, html, name string) (inside, rest string) {
	t.Helper()
	before, after, ok := strings.Cut(html, "<"+name+">")
	inside, after, closed := strings.Cut(after, "</"+name+">")
	if !ok || !closed || strings.Contains(after, "<"+name) {
		t.Fatalf("the page has not exactly one %s", name)
	}
	return inside, before + after
}

func checkText(t testing.TB, s string) {
	t.Helper()
	if !utf8.ValidString(s) {
		t.Error("text is not valid UTF-8")
	}
	for _, r := range s {
		if r != '\n' && !unicode.IsPrint(r) {
			t.Fatalf("text holds the character %U", r)
		}
	}
}

var (
	escapePair = regexp.MustCompile(`\\.`)
	ownMarkup  = regexp.MustCompile(`(?m)^(- )?\*\*|:?\*\*`)
)

var codeBlock = regexp.MustCompile("(?ms)^\\d+\\. (`{3,})sh$.*?^ +(`{3,})$")

// checkMarkdown asserts that nothing but our own words is markup.
func checkMarkdown(t testing.TB, s string) {
	t.Helper()
	checkText(t, s)
	// A pair leaves a letter behind: what stands on its two sides does not touch.
	prose := escapePair.ReplaceAllString(codeBlock.ReplaceAllString(s, ""), "x")
	prose = ownMarkup.ReplaceAllString(strings.ReplaceAll(prose, "&#58;", "x"), "")
	if i := strings.IndexAny(prose, "<>[]*`|@#~!{}\\"); i >= 0 {
		t.Fatalf("markdown holds %q in %.300q", prose[i], prose[max(0, i-100):])
	}
	if strings.Contains(prose, "://") {
		t.Error("markdown holds an address that becomes a link")
	}
}
