package redact

import "strings"

// URL masks credentials in a URL, or in the source of a mount, which may have them without being a URL:
// "//user:password@server/share", "user%password@server". A source that is nothing of that kind stays as it is.
func (r *Redactor) URL(where, s string) string {
	s = r.Text(where, s)
	if strings.Contains(s, "://") {
		return s
	}
	start := span(s, 0, func(c byte) bool { return c == '/' || c == '\\' })
	end := strings.LastIndexByte(s, '@')
	if end < start {
		return s
	}
	for _, sep := range []byte{':', '%'} {
		// "admin@fsid.cephfs=/vol" and "user@host:/path" have no separator before the @.
		if i := outside(s, start, end, sep); i >= 0 && i+1 < end {
			return s[:i+1] + r.mask(where, "url", s[i+1:end]) + s[end:]
		}
	}
	return s
}

// userinfo is for credentials in URLs, and in the shares of Windows, which have no scheme.
func (f *finding) userinfo(_, to int) {
	if to < f.noUser {
		return
	}
	slash, stop, last := -1, to, -1 // the authority's end, the word's, and the @ that ends the userinfo
	for stop < len(f.s) {
		if p := placeholderAt(f.s, stop); p > 0 {
			stop = p
			continue
		}
		c := f.s[stop]
		if isSpace(c) || isQuote(c) || strings.IndexByte(`<>\`, c) >= 0 {
			f.hit = f.hit || c == '\\' && !isQuote(at(f.s, stop+1))
			break
		}
		if strings.IndexByte("/?#", c) >= 0 && slash < 0 {
			slash = stop
			if last >= 0 || !f.passwordGoesOn(to, slash) {
				break
			}
		}
		if c == '@' {
			last = stop
		}
		stop++
	}
	switch {
	case last > to:
		f.addUserinfo(to, last)
	case last < 0:
		f.noUser = stop
	}
}

func fitsUserinfo(s string, from, to int) bool {
	before := at(s, from-1)
	return at(s, to) > ' ' && (before == ':' || before == '=' || before == 0 || isSpace(before) || isQuote(before))
}

// passwordGoesOn says whether a slash without an @ before it belongs to a password: what stands behind the colon is no
// port.
func (f *finding) passwordGoesOn(from, slash int) bool {
	colon := outside(f.s, from, slash, ':')
	return colon > 0 && f.s[from] != '[' && colon+1 < slash && !all(f.s[colon+1:slash], isDigit)
}

func (f *finding) addUserinfo(from, to int) {
	user := f.s[from:to]
	switch colon := outside(f.s, from, to, ':'); {
	case colon >= 0:
		f.add("url", colon+1, to)
	case len(user) >= 20 && all(user, isToken) && strings.ContainsAny(user, "0123456789"): // a token instead of a user
		f.add("url", from, to)
	}
}

// outside returns where a byte is that belongs to no placeholder, or -1.
func outside(s string, from, to int, c byte) int {
	for i := from; i < to; i++ {
		if p := placeholderAt(s, i); p > 0 {
			i = p - 1
		} else if s[i] == c {
			return i
		}
	}
	return -1
}

// webhook is for the URLs by which anybody may post.
func (f *finding) webhook(_, to int) {
	end := span(f.s, to, func(c byte) bool { return isToken(c) || c == '/' })
	if p := placeholderAt(f.s, to); p > 0 {
		end = wordEnd(f.s, to)
	}
	if end-to >= 16 {
		f.add("webhook", to, end)
	}
}
