package logs

import "strings"

// trouble takes the message as the cause, with the path in it. Information and echoes as events are no trouble.
func trouble(e *entry, o *occurrence) bool {
	if e.Severity == 'I' || strings.HasPrefix(e.Message, "Event") {
		return false
	}
	text := errorOf(e)
	o.Reason, o.Code = cut(text, maxReason), osCode(text)
	if o.Path == "" {
		o.Path = pathIn(text)
	}
	return true
}

// apiTrouble says whether the API server cannot be reached, refuses, or has a certificate that is no longer valid.
func apiTrouble(e *entry, o *occurrence) bool {
	if !trouble(e, o) {
		return false
	}
	o.Path = ""
	switch text := errorOf(e); {
	case strings.Contains(text, "nauthorized"), strings.Contains(text, "is forbidden"):
		o.Kind = KindAPIUnauthorized
	case strings.Contains(text, "the object has been modified"):
		return false
	}
	return true
}

func subPath(e *entry, o *occurrence) bool {
	o.Container = cut(strings.Trim(word(errorOf(e), "of container ", ",: "), `"\`), maxName)
	return trouble(e, o)
}
