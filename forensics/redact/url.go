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
	if start == 1 && looksRandom(s[1:]) && strings.IndexByte(s[1:], '/') < 0 { // base64 that was taken for a path
		return r.mask(where, "encoded", s)
	}
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
			if last >= 0 || !f.slashInPassword(to, slash) {
				break
			}
		}
		if c == '@' {
			last = stop
		}
		stop++
	}
	f.spend(stop - to)
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

// slashInPassword says whether a slash without an @ before it belongs to a password: what stands behind the colon is no
// port.
func (f *finding) slashInPassword(from, slash int) bool {
	colon := outside(f.s, from, slash, ':')
	return colon > 0 && f.s[from] != '[' && colon+1 < slash && !all(f.s[colon+1:slash], isDigit)
}

func (f *finding) addUserinfo(from, to int) {
	user := f.s[from:to]
	switch colon := outside(f.s, from, to, ':'); {
	case colon >= 0:
		f.add("url", colon+1, to)
		if colon-from >= 32 && all(f.s[from:colon], isLowerHex) { // Sentry's
			f.add("url", from, colon)
		}
	case len(user) >= 20 && all(user, isToken) && strings.ContainsAny(user, "0123456789"): // a token instead of a user
		f.add("url", from, to)
	}
}

// bareUserinfo is for credentials before a host without a scheme: "u:x@tcp(db:3306)/shop", "bob:x@registry.example/image".
func (f *finding) bareUserinfo(from, to int) {
	first := max(0, from-reach)
	isPart := func(c byte) bool { return c > ' ' && !isQuote(c) && strings.IndexByte(`<>\,=;|(){}[]`, c) < 0 }
	start := first + spanBack(f.s[first:from], from-first, isPart)
	f.spend(from - start)
	if cut := strings.LastIndex(f.s[start:from], "//"); cut >= 0 {
		start += cut + 2
	}
	dsn := hasFold(f.s, to, "tcp(") || hasFold(f.s, to, "unix(")                 // of Go's driver for MySQL: a slash is part of the password
	if slash := strings.LastIndexByte(f.s[start:from], '/'); slash > 0 && !dsn { // of a path before it
		start += slash + 1
	}
	if percent := strings.IndexByte(f.s[start:from], '%'); percent > 0 && strings.HasPrefix(f.s[to:], "//") { // user%password@//server
		f.add("url", start+percent+1, from)
		return
	}
	colon := outside(f.s, start, from, ':')
	if more := outside(f.s, colon+1, from, ':'); colon >= 0 && more > colon && hasFold(f.s, start, "iscsi:") {
		colon = more
	}
	if colon <= start || colon+1 == from || strings.IndexByte(f.s[start:colon], '/') >= 0 && f.s[start] != '/' {
		return
	}
	secret := f.s[colon+1 : from]
	host := span(f.s, to, isNameChar)
	switch next := at(f.s, host); {
	case next == '(' && (host == to || contains([]string{"tcp", "unix", "tcp4", "tcp6"}, f.s[to:host])):
	case host == to || hasFold(f.s, to, "sha256:") || hasFold(f.s, to, "sha512:") || all(secret, isDigit) || strings.IndexByte(secret, '/') >= 0:
		return
	case !mixed(secret) && (strings.IndexByte(f.s[to:host], '.') < 0 && next != '/' && next != '_' || next == ':' && at(f.s, host+1) == '/'):
		return
	}
	f.add("url", colon+1, from)
}

func fitsBareUserinfo(s string, from, to int) bool {
	c := at(s, to)
	return from > 2 && isPasswordEnd(s[from-1]) && (isAlnum(c) || c == '(' || c == '/')
}

func isPasswordEnd(c byte) bool { return c > ' ' && !isQuote(c) && c != ':' && c != '/' }

// oracle is for "jdbc:oracle:thin:scott/x@host".
func (f *finding) oracle(_, to int) {
	end := f.wordEnd(to)
	slash, host := strings.IndexByte(f.s[to:end], '/'), strings.IndexByte(f.s[to:end], '@')
	if 0 < slash && slash+1 < host {
		f.add("url", to+slash+1, to+host)
	}
}

// pgpass is for the lines of PostgreSQL's password file: "host:5432:database:user:password".
func (f *finding) pgpass(_, to int) {
	end := f.wordEnd(to)
	if fields := strings.SplitN(f.s[to:end], ":", 3); len(fields) == 3 {
		f.add("assignment", end-len(fields[2]), end)
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
		end = f.wordEnd(to)
	}
	if end-to >= 16 {
		f.add("webhook", to, end)
	}
}
